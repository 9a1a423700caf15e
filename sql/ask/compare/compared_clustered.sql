-- description: How each estimate varies, taken over single requests, over sessions and over windows, with the degrees of freedom of each
-- grain: side, dimension, place, kind (request, session or window)
-- reads: compared_residuals, compared_totals, compared_units, compared_windows
-- unit: estimate_variance is of n x goodput_ratio; draws: requests, sessions or windows with a label in the common mix
-- unit: units, draws: a window that is cut is as much of one as it is long
WITH units AS (
    SELECT u.side, u.dimension, u.place, u.kind, u.n, u.estimate, u.quality, u.is_judged, coalesce(w.length_s, 1) AS length_s, coalesce(w.base_s, 1) AS base_s
    FROM compared_units AS u
    LEFT JOIN compared_windows AS w ON u.kind = 'window' AND w.side = u.side AND w.start_s::VARCHAR = u.unit
    UNION ALL
    SELECT side, dimension, place, 'request', 1, estimate, quality, is_judged, 1, 1 FROM compared_residuals
),
summed AS (
    SELECT
        u.side, u.dimension, u.place, u.kind,
        count(*) AS clusters,
        sum(u.length_s) / any_value(u.base_s) AS units,
        any_value(t.n) AS n,
        coalesce(sum(u.length_s) FILTER (WHERE u.is_judged), 0) / any_value(u.base_s) AS draws,
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
-- requests that are all by themselves in their sessions or windows are independent; less than two windows show nothing of how these vary
WHERE kind = 'request' OR units >= 2 AND clusters < n
