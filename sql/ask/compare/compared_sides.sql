-- description: Each side as a whole: its rates and ratios with their variances
-- grain: side
-- reads: compared_strata, compared_units, compared_windows
-- unit: a variance from few windows or sessions is multiplied by (t / z)^2, so that 1.96 of its roots reach as far as Student's t
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
        sum(weight * pass_rate ORDER BY workload) AS quality_ratio,
        sum(weight ** 2 * pass_rate * (1 - pass_rate) / labelled ORDER BY workload) AS quality_variance,
        sum(labelled) FILTER (WHERE weight IS NOT NULL) AS weighed
    FROM compared_strata
    GROUP BY side
),
spread AS (
    SELECT
        side,
        -- of the sum over windows; at least what as many independent requests would have
        greatest(1, any_value(t.succeeded), coalesce(var_samp(w.succeeded) * count(*) * (student(count(*) - 1) / 1.959963984540054) ** 2, 0))
            AS succeeded_variance,
        greatest(1, any_value(t.estimate + l.label_variance),
            coalesce(var_samp(w.estimate) * count(*) * (student(count(*) - 1) / 1.959963984540054) ** 2, 0)) AS estimate_variance
    FROM compared_windows AS w
    JOIN totals AS t USING (side)
    JOIN labels AS l USING (side)
    GROUP BY side
),
-- windows vary, and so do sessions: the wider of both
clustered AS (
    SELECT side, max(ratio_variance) AS ratio_variance, max(quality_variance) AS quality_variance
    FROM (
        SELECT
            u.side,
            sum((u.estimate - u.n * t.estimate / t.n) ** 2 ORDER BY u.unit) * count(*) / nullif(count(*) - 1, 0)
                * (student(count(*) - 1) / 1.959963984540054) ** 2 AS ratio_variance,
            sum(u.quality ** 2 ORDER BY u.unit) * count(*) / nullif(count(*) - 1, 0)
                * (student(count(*) - 1) / 1.959963984540054) ** 2 AS quality_variance
        FROM compared_units AS u
        JOIN totals AS t USING (side)
        GROUP BY u.side, u.kind
        -- requests that are all by themselves are independent
        HAVING count(*) < any_value(t.n)
    )
    GROUP BY side
)
SELECT
    side,
    t.n, t.succeeded, t.estimate, l.accepted, l.need, l.labelled, l.label_variance,
    t.windows,
    t.windows * t.base_s AS time_s,
    around(t.succeeded / time_s, s.succeeded_variance / time_s ** 2) AS throughput_rps,
    around(t.estimate / time_s, s.estimate_variance / time_s ** 2) AS goodput_rps,
    -- where all passed, or none, it is no surer than what was judged
    wilson(t.estimate / t.n, CASE WHEN t.estimate > 0 AND t.estimate < t.n
        THEN t.estimate * (t.n - t.estimate) / greatest(c.ratio_variance, t.estimate * (1 - t.estimate / t.n) + l.label_variance)
        ELSE t.n * coalesce(ratio(l.labelled, l.need), 1) END) AS goodput_ratio,
    CASE WHEN l.weighed > 0 THEN wilson(l.quality_ratio, CASE WHEN l.quality_variance > 0
        THEN l.quality_ratio * (1 - l.quality_ratio) / greatest(c.quality_variance, l.quality_variance)
        ELSE l.weighed END) END AS quality_ratio
FROM totals AS t
JOIN labels AS l USING (side)
JOIN spread AS s USING (side)
LEFT JOIN clustered AS c USING (side)
