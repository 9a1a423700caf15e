-- description: Percentiles of latency window by window, beside the bound of the workload's gate
-- grain: period, choice, metric, at
-- reads: goodput, shown_periods, shown_slices, workloads
-- unit: seconds; bound is NULL where the slice holds several workloads, or the workload has no such gate
WITH counted AS (
    SELECT p.period, s.choice, s.workload AS chosen_workload, g.*
    FROM goodput AS g
    JOIN shown_periods AS p ON g.window_s = p.drawn_s AND g.window_start >= p.from_at AND g.window_start < p.until_at
    JOIN shown_slices AS s
        ON s.slice = g.slice AND s.slice_value IS NOT DISTINCT FROM g.slice_value AND s.workload IS NOT DISTINCT FROM g.workload
        AND s.model IS NOT DISTINCT FROM g.model AND s.pool IS NOT DISTINCT FROM g.pool AND s.route IS NOT DISTINCT FROM g.route
),
measured AS (
    SELECT period, choice, chosen_workload, window_start AS at, window_s, 'ttft' AS metric, p50_ttft_s AS p50, p95_ttft_s AS p95, p99_ttft_s AS p99, n_ttft AS n, partial
    FROM counted
    UNION ALL
    SELECT period, choice, chosen_workload, window_start, window_s, 'tpot', p50_tpot_s, p95_tpot_s, p99_tpot_s, n_tpot, partial FROM counted
    UNION ALL
    SELECT period, choice, chosen_workload, window_start, window_s, 'e2e', p50_e2e_s, p95_e2e_s, p99_e2e_s, n_e2e, partial FROM counted
)
SELECT m.period, m.choice, m.at, m.window_s, m.metric, m.p50, m.p95, m.p99, m.n, m.partial, m.chosen_workload AS workload, w.bound
FROM measured AS m
LEFT JOIN workloads AS w ON w.workload = m.chosen_workload AND w.gate = m.metric
WHERE m.n > 0
ORDER BY ALL
