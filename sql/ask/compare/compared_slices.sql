-- description: Two sides, slice by slice of prompt and answer length: means that agree can hide tails that do not
-- grain: metric, dimension, from_tokens
-- reads: compared_ratios, compared_shared
WITH estimates AS (
    SELECT side, dimension, place, n, from_tokens, to_tokens, 'goodput_ratio' AS metric, goodput_ratio AS estimate FROM compared_ratios
    UNION ALL
    SELECT side, dimension, place, n, from_tokens, to_tokens, 'quality_ratio', quality_ratio FROM compared_ratios
),
paired AS MATERIALIZED (
    SELECT
        dimension, place, metric,
        least(a.from_tokens, b.from_tokens) AS from_tokens,
        greatest(a.to_tokens, b.to_tokens) AS to_tokens,
        a.n AS n_a, b.n AS n_b, a.estimate AS a, b.estimate AS b,
        estimates_vary(a.estimate, b.estimate, s.over_windows) AS varies,
        -- intervals of so many comparisons that all of them hold at once in 95 % (Bonferroni)
        count(*) OVER () AS comparisons,
        0.025 / comparisons AS tail
    FROM (FROM estimates WHERE side = 'A') AS a
    JOIN (FROM estimates WHERE side = 'B') AS b USING (dimension, place, metric)
    LEFT JOIN compared_shared AS s USING (dimension, place, metric)
    WHERE dimension <> 'all' AND a.estimate IS NOT NULL AND b.estimate IS NOT NULL
),
wide AS (
    SELECT
        *,
        student_beyond(a.df, tail) AS t_a,
        student_beyond(b.df, tail) AS t_b,
        student_beyond(varies.df, tail) AS t
    FROM paired
),
measured AS (
    SELECT
        *,
        estimated_within(a, t_a) AS within_a,
        estimated_within(b, t_b) AS within_b,
        estimates_apart(a, b, varies, t) AS apart,
        shows_among(a, b, varies, comparisons) AS shows_among
    FROM wide
)
SELECT
    dimension, from_tokens, to_tokens,
    place = max(place) OVER (PARTITION BY dimension) AS is_tail,
    n_a, n_b, metric,
    within_a.value AS a, within_a.low AS a_ci_low, within_a.high AS a_ci_high,
    within_b.value AS b, within_b.low AS b_ci_low, within_b.high AS b_ci_high,
    apart.value AS difference, apart.low AS difference_ci_low, apart.high AS difference_ci_high,
    CASE WHEN apart.low > 0 THEN 'B' WHEN apart.high < 0 THEN 'A' ELSE 'not distinguishable' END AS better,
    shows_among
FROM measured
ORDER BY metric, dimension, from_tokens
