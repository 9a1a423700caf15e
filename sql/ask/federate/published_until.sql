-- description: Until when each lake has telemetry: to the end of the shortest window that its last record lies in
-- grain: lake
-- reads: goodput, lakes, shown_periods, watermark
-- Money goes on to the end of a bill, so windows are no sign of telemetry where there is any. NULL: the lake has published nothing.
SELECT
    l.lake,
    coalesce(
        time_bucket(to_seconds(step.step_s), any_value(w.observed_until_at)) + to_seconds(step.step_s),
        max(g.window_start + to_seconds(g.window_s))
    ) AS until_at
FROM lakes AS l
CROSS JOIN (SELECT min(whole_s) AS step_s FROM shown_periods) AS step
LEFT JOIN watermark AS w ON w.lake = l.lake
LEFT JOIN goodput AS g ON g.lake = l.lake AND g.window_s = step.step_s
GROUP BY l.lake, step.step_s
