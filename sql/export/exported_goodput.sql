-- description: Goodput, what it costs and how far it is observed, of each window and slice that leaves the lake
-- grain: window_start, window_s, slice, workload, model, pool, route
-- reads: exported_slices, exported_windows, goodput
SELECT
    g.window_start, g.window_s, g.slice, g.workload, g.model, g.pool, g.route,
    g.offered, g.goodput_rps, g.goodput_ci_low_rps, g.goodput_ci_high_rps,
    g.goodput_ratio, g.goodput_ratio_ci_low, g.goodput_ratio_ci_high, g.throughput_rps,
    g.output_token_goodput_tps, g.output_token_goodput_ci_low_tps, g.output_token_goodput_ci_high_tps,
    g.quality_gated_ratio, g.quality_coverage_ratio, g.retry_ratio,
    g.cost_usd, g.unpriced, g.cost_per_accepted_usd, g.cost_per_accepted_ci_low_usd, g.cost_per_accepted_ci_high_usd,
    g.wasted_ratio, g.wasted_ci_low_ratio, g.wasted_ci_high_ratio,
    g.coverage_ratio, g.unobserved
FROM goodput AS g
JOIN exported_windows USING (window_start, window_s)
JOIN exported_slices USING (slice)
