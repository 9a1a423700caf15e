-- description: Quantiles of the latencies of each window and slice that leaves the lake
-- grain: window_start, window_s, slice, workload, model, pool, route, quantile
-- reads: exported_slices, exported_windows, goodput
-- unit: seconds; NULL where nobody reported it
SELECT
    g.window_start, g.window_s, g.slice, g.workload, g.model, g.pool, g.route, q.quantile,
    CASE q.quantile WHEN '0.5' THEN p50_ttft_s WHEN '0.95' THEN p95_ttft_s ELSE p99_ttft_s END AS ttft_s,
    CASE q.quantile WHEN '0.5' THEN p50_tpot_s WHEN '0.95' THEN p95_tpot_s ELSE p99_tpot_s END AS tpot_s,
    CASE q.quantile WHEN '0.5' THEN p50_e2e_s WHEN '0.95' THEN p95_e2e_s ELSE p99_e2e_s END AS e2e_s
FROM goodput AS g
JOIN exported_windows USING (window_start, window_s)
JOIN exported_slices USING (slice)
CROSS JOIN (SELECT unnest(['0.5', '0.95', '0.99']) AS quantile) AS q
