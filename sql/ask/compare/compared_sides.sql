-- description: Each side as a whole: its rates and ratios with their variances
-- grain: side
-- reads: compared_strata, compared_windows
WITH totals AS (
    SELECT
        side,
        sum(n)::BIGINT AS n, sum(succeeded)::BIGINT AS succeeded, sum(estimate ORDER BY start_s) AS estimate,
        count(*) AS windows, any_value(base_s) AS base_s
    FROM compared_windows
    GROUP BY side
),
labels AS (
    SELECT
        side,
        sum(need)::BIGINT AS need, sum(labelled)::BIGINT AS labelled, sum(accepted)::BIGINT AS accepted,
        sum(CASE WHEN labelled BETWEEN 1 AND need - 1
            THEN need ** 2 * pass_rate * (1 - pass_rate) / drawn_size(labelled, need) ELSE 0 END ORDER BY workload) AS label_variance,
        ratio(sum(pass_rate * labelled ORDER BY workload), sum(labelled)) AS quality_ratio
    FROM compared_strata
    GROUP BY side
),
spread AS (
    SELECT
        side,
        -- of the sum over windows; at least what as many independent requests would have
        greatest(1, any_value(t.succeeded), coalesce(var_samp(w.succeeded) * count(*), 0)) AS succeeded_variance,
        greatest(1, any_value(t.estimate), coalesce(var_samp(w.estimate) * count(*), 0)) AS estimate_variance,
        coalesce(sum((w.estimate - w.n * t.estimate / t.n) ** 2 ORDER BY w.start_s)
            * count(*) / nullif(count(*) - 1, 0), 0) AS ratio_variance
    FROM compared_windows AS w
    JOIN totals AS t USING (side)
    GROUP BY side
)
SELECT
    side,
    t.n, t.succeeded, t.estimate, l.accepted, l.need, l.labelled, l.label_variance,
    t.windows,
    t.windows * t.base_s AS time_s,
    around(t.succeeded / time_s, s.succeeded_variance / time_s ** 2) AS throughput_rps,
    around(t.estimate / time_s, (s.estimate_variance + l.label_variance) / time_s ** 2) AS goodput_rps,
    wilson(t.estimate / t.n, effective_size(t.estimate / t.n, t.n,
        greatest(s.ratio_variance, t.estimate * (1 - t.estimate / t.n)) + l.label_variance)) AS goodput_ratio,
    CASE WHEN l.labelled > 0 THEN wilson(l.quality_ratio, l.labelled) END AS quality_ratio
FROM totals AS t
JOIN labels AS l USING (side)
JOIN spread AS s USING (side)
