-- description: How often each gate fails in each window and slice that leaves the lake
-- grain: window_start, window_s, slice, workload, model, pool, route, gate
-- reads: exported_slices, exported_windows, gate_failures
SELECT f.window_start, f.window_s, f.slice, f.workload, f.model, f.pool, f.route, f.gate, f.fail_ratio, f.only_failing
FROM gate_failures AS f
JOIN exported_windows USING (window_start, window_s)
JOIN exported_slices USING (slice)
