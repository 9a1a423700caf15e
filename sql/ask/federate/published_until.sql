-- description: Up to when each lake has published windows of each length
-- grain: lake, window_s
-- reads: goodput
SELECT lake, window_s, max(window_start) + to_seconds(window_s) AS until_at FROM goodput GROUP BY lake, window_s
