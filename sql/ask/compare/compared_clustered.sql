-- description: How each estimate varies, taken over single requests, over sessions and over windows, with the degrees of freedom of each
-- grain: side, dimension, place, kind (request, session or window)
-- reads: compared_residuals, compared_totals, compared_units
-- unit: estimate_variance is of n x goodput_ratio; draws: requests, sessions or windows with a label in the common mix
WITH units AS (
    SELECT side, dimension, place, kind, n, estimate, quality, is_judged FROM compared_units
    UNION ALL
    SELECT side, dimension, place, 'request', 1, estimate, quality, is_judged FROM compared_residuals
),
summed AS (
    SELECT
        u.side, u.dimension, u.place, u.kind,
        count(*) AS units,
        any_value(t.n) AS n,
        count(*) FILTER (WHERE u.is_judged) AS draws,
        sum_steady((u.estimate - u.n * t.estimate / t.n) ** 2) AS estimate_squares,
        sum_steady(u.quality ** 2) / any_value(t.mixed) ** 2 AS quality_squares
    FROM units AS u
    JOIN compared_totals AS t USING (side, dimension, place)
    GROUP BY ALL
)
SELECT
    side, dimension, place, kind, units, draws,
    -- requests are taken for independent: Wilson's interval asks for no Student's t
    CASE kind WHEN 'request' THEN 'infinity'::DOUBLE ELSE units - 1 END AS df,
    CASE kind WHEN 'request' THEN 'infinity'::DOUBLE ELSE greatest(1, draws - 1) END AS quality_df,
    estimate_squares * CASE kind WHEN 'request' THEN 1 ELSE units / (units - 1) END AS estimate_variance,
    quality_squares * CASE WHEN kind = 'request' OR draws < 2 THEN 1 ELSE draws / (draws - 1) END AS quality_variance
FROM summed
-- requests that are all by themselves in their sessions or windows are independent
WHERE kind = 'request' OR units > 1 AND units < n
