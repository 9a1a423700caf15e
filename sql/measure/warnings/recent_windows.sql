-- description: The longest windows of the last 7 measured days, up to the latest window: what absence is judged by (docs/semantics.md#warnings)
-- grain: window_start, slice, slice_value, workload, model, pool, route
-- reads: goodput, latest_window, observed
SELECT g.*, g.window_start = w.window_start AS is_latest
FROM goodput AS g
JOIN latest_window AS w ON g.window_s = w.window_s AND g.window_start <= w.window_start
CROSS JOIN observed AS o
-- a window of which there are bills alone was not measured; where there are metrics alone, no window is observed
WHERE g.observed_s > 0 OR o.observed_until_ns = 0
QUALIFY dense_rank() OVER (ORDER BY date_trunc('day', g.window_start AT TIME ZONE 'UTC') DESC) <= 7
