-- description: Windows that can leave the lake: those that lie wholly inside observed telemetry; `watermark` says which of them are final
-- grain: window_start, window_s
-- reads: goodput
SELECT window_start, window_s, window_start + to_seconds(window_s) AS window_end
FROM goodput
WHERE slice = 'overall' AND NOT partial
