-- description: When each window that leaves the lake ended
-- grain: window_start, window_s
-- reads: exported_windows, whole_windows
-- unit: Unix seconds
SELECT window_start, window_s, epoch(window_end) AS end_s
FROM whole_windows
JOIN exported_windows USING (window_start, window_s)
