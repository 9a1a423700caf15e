-- description: What share of the answers each evaluator passes, in each window that leaves the lake; without an evaluator: the quality gate
-- grain: window_start, window_s, workload, model, evaluator
-- reads: exported_windows, quality
SELECT
    q.window_start, q.window_s, q.workload, q.model, q.evaluator,
    q.pass_ratio, q.pass_ci_low_ratio, q.pass_ci_high_ratio, q.judged
FROM quality AS q
JOIN exported_windows USING (window_start, window_s)
WHERE q.label IS NULL
