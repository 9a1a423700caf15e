-- description: Two sides, slice by slice of prompt and answer length: means that agree can hide tails that do not
-- grain: dimension, from_tokens
-- reads: compared_requests
-- Twenty comparisons at once: each interval is so wide (99.75 %) that all of them together hold 95 % of the time.
WITH sized AS (
    SELECT * EXCLUDE (input_tokens, output_tokens), 'input_tokens' AS dimension, input_tokens AS tokens FROM compared_requests
    UNION ALL
    SELECT * EXCLUDE (input_tokens, output_tokens), 'output_tokens', output_tokens FROM compared_requests
),
bounds AS (
    SELECT dimension, list_distinct(quantile_disc(tokens, [0.25, 0.5, 0.75, 0.95])) AS bounds FROM sized GROUP BY dimension
),
windowed AS (
    SELECT
        dimension, side, start_s,
        len(list_filter(bounds, lambda bound: bound < tokens)) AS place,
        min(tokens) AS from_tokens,
        max(tokens) AS to_tokens,
        count(*) AS n,
        count(*) FILTER (WHERE needs_label) AS need,
        count(passed) AS labelled,
        count(*) FILTER (WHERE passed) AS passed,
        count(*) FILTER (WHERE is_accepted AND NOT needs_label) AS ungated
    FROM sized
    JOIN bounds USING (dimension)
    WHERE tokens IS NOT NULL
    GROUP BY ALL
),
sliced AS (
    SELECT
        dimension, side, place,
        min(from_tokens) AS from_tokens,
        max(to_tokens) AS to_tokens,
        sum(n)::BIGINT AS n,
        sum(need)::BIGINT AS need,
        sum(labelled)::BIGINT AS labelled,
        sum(ungated)::BIGINT AS ungated,
        ratio(sum(passed), sum(labelled)) AS pass_rate
    FROM windowed
    GROUP BY ALL
),
estimated AS (
    SELECT
        s.*,
        s.ungated + s.need * coalesce(s.pass_rate, 1) AS estimate,
        CASE WHEN s.labelled BETWEEN 1 AND s.need - 1
            THEN s.need ** 2 * s.pass_rate * (1 - s.pass_rate) / drawn_size(s.labelled, s.need) ELSE 0 END AS label_variance
    FROM sliced AS s
),
spread AS (
    SELECT
        dimension, side, place,
        coalesce(sum((w.ungated + w.need * coalesce(e.pass_rate, 1) - w.n * e.estimate / e.n) ** 2 ORDER BY start_s)
            * count(*) / nullif(count(*) - 1, 0), 0) AS ratio_variance
    FROM windowed AS w
    JOIN (SELECT dimension, side, place, pass_rate, estimate, n FROM estimated) AS e USING (dimension, side, place)
    GROUP BY ALL
),
measured AS (
    SELECT
        *,
        wilson(estimate / n, effective_size(estimate / n, n,
            greatest(ratio_variance, estimate * (1 - estimate / n)) + label_variance), z := 3.023341439739154) AS goodput,
        CASE WHEN labelled > 0 THEN wilson(pass_rate, labelled, z := 3.023341439739154) END AS quality
    FROM estimated
    JOIN spread USING (dimension, side, place)
)
SELECT
    dimension,
    least(a.from_tokens, b.from_tokens) AS from_tokens,
    greatest(a.to_tokens, b.to_tokens) AS to_tokens,
    place = max(place) OVER (PARTITION BY dimension) AS is_tail,
    a.n AS n_a, b.n AS n_b,
    m.metric,
    m.a.value AS a, m.a.low AS a_ci_low, m.a.high AS a_ci_high,
    m.b.value AS b, m.b.low AS b_ci_low, m.b.high AS b_ci_high,
    difference(m.a, m.b).value AS difference,
    difference(m.a, m.b).low AS difference_ci_low,
    difference(m.a, m.b).high AS difference_ci_high,
    CASE WHEN difference_ci_low > 0 THEN 'B' WHEN difference_ci_high < 0 THEN 'A' ELSE 'not distinguishable' END AS better
FROM (FROM measured WHERE side = 'A') AS a
JOIN (FROM measured WHERE side = 'B') AS b USING (dimension, place)
CROSS JOIN LATERAL (
    SELECT unnest([
        {metric: 'goodput_ratio', a: a.goodput, b: b.goodput},
        {metric: 'quality_ratio', a: a.quality, b: b.quality}], max_depth := 2)
) AS m
WHERE m.a IS NOT NULL AND m.b IS NOT NULL
ORDER BY metric, dimension, from_tokens
