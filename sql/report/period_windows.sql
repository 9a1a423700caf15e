-- description: Published windows of each shown period and slice, by workload where the slice has several: each is judged by its own labels or by none
-- grain: period, choice, window_start, workload
-- reads: goodput, shown_periods, shown_slices
-- unit: of several lakes one row each; need to upper: requests, or what the workload counts; tokens: output tokens
WITH shown AS (
    SELECT
        *,
        CASE slice WHEN 'overall' THEN 'workload' WHEN 'model' THEN 'workload_model' WHEN 'pool' THEN 'workload_pool' ELSE slice END AS part_slice
    FROM shown_slices
)
SELECT
    p.period, s.choice, g.window_start, g.workload, g.definition, g.need_label AS need, g.labelled,
    g.goodput_rps * g.window_s AS estimate,
    g.goodput_ci_low_rps * g.window_s AS low, g.goodput_ci_high_rps * g.window_s AS high,
    g.goodput_lower_rps * g.window_s AS lower, g.goodput_upper_rps * g.window_s AS upper,
    -- accepted whatever a judge says: of workloads without a quality gate
    g.accepted - coalesce(round(g.labelled * g.quality_pass_in_bounds_ratio), 0) AS ungated,
    g.output_token_goodput_ci_low_tps * g.window_s AS low_tokens, g.output_token_goodput_ci_high_tps * g.window_s AS high_tokens,
    g.slice_value IS NOT NULL AND g.workload IS NULL AS is_of_several_workloads
FROM goodput AS g
JOIN shown_periods AS p ON g.window_s = p.whole_s AND g.window_start >= p.from_at AND g.window_start < p.until_at
JOIN shown AS s
    ON s.part_slice = g.slice AND s.slice_value IS NOT DISTINCT FROM g.slice_value AND coalesce(s.workload = g.workload, s.workload IS NULL)
    AND s.model IS NOT DISTINCT FROM g.model AND s.pool IS NOT DISTINCT FROM g.pool AND s.route IS NOT DISTINCT FROM g.route
