-- description: How wide the interval of `goodput_ratio` would be with these labels, by the estimator of `goodput`
-- grain: slice, trial, start_s, workload, route
-- reads: estimated_windows, supposed_cells
WITH counted AS (
    SELECT
        slice, trial, start_s, workload,
        CASE slice WHEN 'stratum' THEN route END AS route,
        sum(offered)::BIGINT AS offered, sum(need)::BIGINT AS need, sum(labelled)::BIGINT AS labelled, sum(taken - labelled) AS drawn
    FROM supposed_cells
    GROUP BY ALL
)
SELECT c.*, coalesce(ratio(e.high - e.low, c.offered), 0) AS width
FROM counted AS c
LEFT JOIN estimated_windows AS e
    ON e.slice = c.slice AND e.window_s = c.trial AND e.start_s = c.start_s
    AND e.k_workload = c.workload AND e.k_route IS NOT DISTINCT FROM c.route
