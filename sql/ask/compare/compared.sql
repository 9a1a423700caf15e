-- description: Two sides, measure by measure: both values and their difference, each with its 95 % interval, and which side is better where it can be estimate
-- grain: metric
-- reads: compared_costs, compared_quantiles, compared_sides
WITH measures AS (
    SELECT
        side,
        unnest([
            {metric: 'throughput_rps', ordinal: 1, more_is_better: true, estimate: throughput_rps},
            {metric: 'goodput_rps', ordinal: 2, more_is_better: true, estimate: goodput_rps},
            {metric: 'goodput_ratio', ordinal: 3, more_is_better: true, estimate: goodput_ratio},
            {metric: 'quality_ratio', ordinal: 4, more_is_better: true, estimate: quality_ratio}
        ], max_depth := 2)
    FROM compared_sides
    UNION ALL
    SELECT side, 'cost_per_accepted_usd', 5, false, cost_per_accepted_usd FROM compared_costs
    UNION ALL
    SELECT side, 'direct_cost_per_accepted_usd', 6, false, direct_cost_per_accepted_usd FROM compared_costs
    WHERE EXISTS (FROM compared_costs WHERE idle_usd <> 0 OR overhead_usd <> 0 OR unattributed_usd <> 0)
    UNION ALL
    SELECT side, metric, 7 AS ordinal, false AS more_is_better, estimate FROM compared_quantiles
),
paired AS (
    SELECT
        metric, a.ordinal, a.more_is_better,
        a.estimate AS a, b.estimate AS b,
        difference(a.estimate, b.estimate) AS apart
    FROM (FROM measures WHERE side = 'A') AS a
    JOIN (FROM measures WHERE side = 'B') AS b USING (metric)
    WHERE a.estimate.value IS NOT NULL OR b.estimate.value IS NOT NULL
)
SELECT
    metric,
    a.value AS a, a.low AS a_ci_low, a.high AS a_ci_high,
    b.value AS b, b.low AS b_ci_low, b.high AS b_ci_high,
    apart.value AS difference,
    apart.low AS difference_ci_low,
    apart.high AS difference_ci_high,
    CASE
        WHEN apart.low > 0 THEN CASE WHEN more_is_better THEN 'B' ELSE 'A' END
        WHEN apart.high < 0 THEN CASE WHEN more_is_better THEN 'A' ELSE 'B' END
        ELSE 'not distinguishable'
    END AS better
FROM paired
ORDER BY ordinal, split_part(metric, '_', 2) <> 'ttft', split_part(metric, '_', 2) <> 'tpot', metric
