-- description: Two sides, measure by measure: both values and their difference, each with its 95 % interval, which side is better where it can be estimated, and else what would decide
-- grain: metric
-- reads: compared_costs, compared_quantiles, compared_ratios, compared_shared, compared_sides
WITH estimates AS (
    SELECT side, 'throughput_rps' AS metric, 1 AS ordinal, throughput_rps AS estimate FROM compared_sides
    UNION ALL
    SELECT side, 'goodput_rps', 2, goodput_rps FROM compared_sides
    UNION ALL
    SELECT side, 'goodput_ratio', 3, goodput_ratio FROM compared_ratios WHERE dimension = 'all'
    UNION ALL
    SELECT side, 'quality_ratio', 4, quality_ratio FROM compared_ratios WHERE dimension = 'all'
    UNION ALL
    SELECT side, 'cost_per_accepted_usd', 5, cost_per_accepted_usd FROM compared_costs
    UNION ALL
    SELECT side, 'direct_cost_per_accepted_usd', 6, direct_cost_per_accepted_usd FROM compared_costs
    WHERE EXISTS (FROM compared_costs WHERE idle_usd <> 0 OR overhead_usd <> 0 OR unattributed_usd <> 0)
),
paired AS MATERIALIZED (
    SELECT
        metric, ordinal, a.estimate AS a, b.estimate AS b,
        estimates_vary(a.estimate, b.estimate, s.over_windows) AS varies
    FROM (FROM estimates WHERE side = 'A') AS a
    JOIN (FROM estimates WHERE side = 'B') AS b USING (metric, ordinal)
    LEFT JOIN (FROM compared_shared WHERE dimension = 'all') AS s USING (metric)
    WHERE a.estimate IS NOT NULL OR b.estimate IS NOT NULL
),
wide AS (
    SELECT
        *,
        student_beyond(a.df, 0.025) AS t_a,
        student_beyond(b.df, 0.025) AS t_b,
        student_beyond(varies.df, 0.025) AS t
    FROM paired
),
measured AS (
    SELECT
        metric, ordinal,
        estimated_within(a, t_a) AS a,
        estimated_within(b, t_b) AS b,
        estimates_apart(a, b, varies, t) AS apart,
        t,
        CASE WHEN metric IN ('goodput_ratio', 'cost_per_accepted_usd') THEN shows_among(a, b, varies, 1) END AS shows_among,
        CASE WHEN metric IN ('goodput_ratio', 'quality_ratio', 'cost_per_accepted_usd') THEN {
            variance: varies.variance,
            label_variance: a.label_variance + b.label_variance,
            drawn_variance: a.drawn_variance + b.drawn_variance,
            is_judged: coalesce(a.below + a.above + b.below + b.above = 0, false)
        } END AS sampled
    FROM wide
    UNION ALL
    SELECT metric, 7, a.estimate, b.estimate, difference(a.estimate, b.estimate), NULL, NULL, NULL
    FROM (FROM compared_quantiles WHERE side = 'A') AS a
    JOIN (FROM compared_quantiles WHERE side = 'B') AS b USING (metric)
),
decided AS (
    SELECT
        *,
        CASE
            WHEN apart.low > 0 THEN CASE WHEN ordinal < 5 THEN 'B' ELSE 'A' END
            WHEN apart.high < 0 THEN CASE WHEN ordinal < 5 THEN 'A' ELSE 'B' END
            ELSE 'not distinguishable'
        END AS better,
        -- how far the interval reaches from the difference to 0 and beyond
        CASE WHEN better = 'not distinguishable' AND sampled IS NOT NULL
            THEN CASE WHEN apart.value > 0 THEN apart.value - apart.low ELSE apart.high - apart.value END END AS reach,
        -- no more than its own standard error: as good as noise
        sampled.is_judged AND abs(apart.value) <= reach / t AS is_alike,
        -- the next difference lies about the true one: 0.84 standard errors more, and four in five intervals leave 0 out
        CASE WHEN sampled.is_judged AND NOT is_alike
            THEN (reach * (1 + 0.8416212335729143 / t) / apart.value) ** 2 END AS times_as_long,
        -- the part of the variance that has to go; labels that are not there yet have no more than label_variance of it
        (1 - 1 / times_as_long) * sampled.variance AS excess
    FROM measured
),
judged AS (
    SELECT sum(labelled) AS labelled, sum(need - labelled) AS unlabelled FROM compared_sides
)
SELECT
    metric,
    a.value AS a, a.low AS a_ci_low, a.high AS a_ci_high,
    b.value AS b, b.low AS b_ci_low, b.high AS b_ci_high,
    apart.value AS difference,
    apart.low AS difference_ci_low,
    apart.high AS difference_ci_high,
    better, shows_among,
    CASE WHEN is_alike THEN greatest(-apart.low, apart.high) END AS alike_within,
    CASE WHEN excess <= sampled.label_variance
        THEN least(unlabelled, ceil(labelled * excess / (sampled.drawn_variance - excess)))::BIGINT END AS more_labels,
    times_as_long
FROM decided
CROSS JOIN judged
ORDER BY ordinal, split_part(metric, '_', 2) <> 'ttft', split_part(metric, '_', 2) <> 'tpot', metric
