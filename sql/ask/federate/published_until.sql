-- description: Until when each lake has telemetry: to the end of the shortest window of any lake that its last record lies in
-- grain: lake
-- reads: goodput, lakes, watermark
-- Money goes on to the end of a bill, so windows are no sign of telemetry where there is any. NULL: the lake has published nothing.
WITH shortest AS (
    SELECT lake, min(window_s) AS window_s, min(min(window_s)) OVER () AS step_s FROM goodput GROUP BY lake
),
last_windows AS (
    SELECT s.lake, max(g.window_start) + to_seconds(s.window_s) AS until_at
    FROM shortest AS s
    JOIN goodput AS g ON g.lake = s.lake AND g.window_s = s.window_s
    GROUP BY s.lake, s.window_s
)
SELECT
    l.lake,
    coalesce(time_bucket(to_seconds(step.step_s), w.observed_until_at) + to_seconds(step.step_s), last_windows.until_at) AS until_at
FROM lakes AS l
CROSS JOIN (SELECT min(step_s) AS step_s FROM shortest) AS step
LEFT JOIN watermark AS w ON w.lake = l.lake
LEFT JOIN last_windows ON last_windows.lake = l.lake
