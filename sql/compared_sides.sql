-- description: Each side as a whole: rates, ratios and cost with their variances; one window's requests fare alike, so windows are the sample
-- grain: side
WITH windowed AS (
    SELECT
        r.side, r.start_s, any_value(r.base_s) AS base_s,
        count(*) AS n,
        count(*) FILTER (WHERE r.pass_success) AS succeeded,
        -- a request without a label counts by the share of its workload's labelled ones that passed
        sum(CASE WHEN r.needs_label AND s.pass_rate IS NOT NULL THEN s.pass_rate ELSE (r.is_accepted OR r.needs_label)::INTEGER END
            ORDER BY r.workload) AS estimate
    FROM compared_requests AS r
    JOIN compared_strata AS s USING (side, workload)
    GROUP BY r.side, r.start_s
),
ends AS (
    SELECT side, min(start_s) AS first_s, max(start_s) AS last_s, any_value(base_s) AS base_s FROM windowed GROUP BY side
),
-- windows in which the side answered nothing count too, where there was telemetry at all
lived AS (
    SELECT e.side, epoch_us(g.window_start) // 1000000 AS start_s
    FROM goodput AS g
    JOIN ends AS e
        ON g.slice = 'overall' AND g.window_s = e.base_s
        AND epoch_us(g.window_start) // 1000000 BETWEEN e.first_s AND e.last_s
),
totals AS (
    SELECT side, sum(n) AS n, sum(succeeded) AS succeeded, sum(estimate ORDER BY start_s) AS estimate FROM windowed GROUP BY side
),
labels AS (
    SELECT
        side,
        sum(need) AS need, sum(labelled) AS labelled, sum(accepted) AS accepted,
        sum(CASE WHEN labelled BETWEEN 1 AND need - 1
            THEN need ** 2 * pass_rate * (1 - pass_rate) / drawn_size(labelled, need) ELSE 0 END ORDER BY workload) AS label_variance,
        ratio(sum(pass_rate * labelled ORDER BY workload), sum(labelled)) AS quality_ratio
    FROM compared_strata
    GROUP BY side
),
spread AS (
    SELECT
        l.side,
        count(*) AS windows,
        -- of the sum over windows; at least what as many independent requests would have
        greatest(1, any_value(t.succeeded), coalesce(var_samp(coalesce(w.succeeded, 0)) * count(*), 0)) AS succeeded_variance,
        greatest(1, any_value(t.estimate), coalesce(var_samp(coalesce(w.estimate, 0)) * count(*), 0)) AS estimate_variance,
        coalesce(sum((coalesce(w.estimate, 0) - coalesce(w.n, 0) * t.estimate / t.n) ** 2 ORDER BY l.start_s)
            * count(*) / nullif(count(*) - 1, 0), 0) AS ratio_variance
    FROM lived AS l
    JOIN totals AS t USING (side)
    LEFT JOIN windowed AS w USING (side, start_s)
    GROUP BY l.side
),
costs AS (
    SELECT
        r.side,
        CASE WHEN count(r.cost_usd) = count(*) THEN sum(r.cost_usd ORDER BY r.cost_usd) END AS cost_usd,
        sum(r.cost_usd ** 2 ORDER BY r.cost_usd) AS cost_square,
        sum(r.cost_usd ORDER BY r.cost_usd) FILTER (WHERE r.is_accepted) AS cost_of_accepted
    FROM compared_requests AS r
    GROUP BY r.side
)
SELECT
    side,
    t.n, t.succeeded, l.accepted, l.need, l.labelled,
    s.windows,
    s.windows * e.base_s AS time_s,
    around(t.succeeded / time_s, s.succeeded_variance / time_s ** 2) AS throughput_rps,
    around(t.estimate / time_s, (s.estimate_variance + l.label_variance) / time_s ** 2) AS goodput_rps,
    wilson(t.estimate / t.n, effective_size(t.estimate / t.n, t.n,
        greatest(s.ratio_variance, t.estimate * (1 - t.estimate / t.n)) + l.label_variance)) AS goodput_ratio,
    CASE WHEN l.labelled > 0 THEN wilson(l.quality_ratio, l.labelled) END AS quality_ratio,
    c.cost_usd,
    -- a ratio of two sums over requests: its variance by the delta method
    CASE WHEN t.estimate > 0 THEN around(c.cost_usd / t.estimate,
        (c.cost_square - 2 * c.cost_usd / t.estimate * coalesce(c.cost_of_accepted, 0) * t.estimate / greatest(l.accepted, 1)
            + (c.cost_usd / t.estimate) ** 2 * (t.estimate + l.label_variance)) / t.estimate ** 2) END AS cost_per_accepted_usd
FROM totals AS t
JOIN ends AS e USING (side)
JOIN labels AS l USING (side)
JOIN spread AS s USING (side)
JOIN costs AS c USING (side)
