-- description: Where the money of each window and slice that leaves the lake went
-- grain: window_start, window_s, slice, workload, model, pool, route, bucket
-- reads: exported_slices, exported_windows, waste
SELECT
    w.window_start, w.window_s, w.slice, w.workload, w.model, w.pool, w.route, w.bucket,
    w.usd, w.ci_low_usd, w.ci_high_usd
FROM waste AS w
JOIN exported_windows USING (window_start, window_s)
JOIN exported_slices USING (slice)
