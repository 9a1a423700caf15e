-- description: What each base window adds to the error of each estimate of a side; their squares add up to its variance over windows
-- grain: side, dimension, place, metric, start_s
-- reads: compared_costs, compared_sides, compared_spending, compared_totals, compared_units, compared_windows
-- unit: error: in the estimate's own unit; cancels: the part of it that another side's may cancel; is_drawn: of the variance's windows
-- unit: part: how much of a window it is; whose: side A or B alone where both have time in the window but never at once
WITH spent AS (
    SELECT
        w.side, w.start_s,
        (w.loaded_usd - w.estimate * c.cost_per_accepted_usd.value) / s.estimate AS loaded,
        CASE WHEN w.is_served THEN (w.direct_usd - w.estimate * c.direct_cost_per_accepted_usd.value) / s.estimate END AS direct
    FROM compared_spending AS w
    JOIN compared_costs AS c USING (side)
    JOIN compared_sides AS s USING (side)
),
residuals AS (
    SELECT
        u.side, u.dimension, u.place, u.unit::BIGINT AS start_s, 'goodput_ratio' AS metric, true AS is_drawn,
        (u.estimate - u.n * t.estimate / t.n) / t.n AS residual, residual AS common
    FROM compared_units AS u
    JOIN compared_totals AS t USING (side, dimension, place)
    WHERE u.kind = 'window'
    UNION ALL
    SELECT u.side, u.dimension, u.place, u.unit::BIGINT, 'quality_ratio', u.is_judged, u.quality / t.mixed AS residual, residual
    FROM compared_units AS u
    JOIN compared_totals AS t USING (side, dimension, place)
    WHERE u.kind = 'window'
    UNION ALL
    SELECT w.side, 'all', 0, w.start_s, 'throughput_rps', true, (w.succeeded - s.throughput_rps.value * w.length_s) / s.time_s AS residual, residual
    FROM compared_windows AS w
    JOIN compared_sides AS s USING (side)
    UNION ALL
    SELECT w.side, 'all', 0, w.start_s, 'goodput_rps', true, (w.estimate - s.goodput_rps.value * w.length_s) / s.time_s AS residual, residual
    FROM compared_windows AS w
    JOIN compared_sides AS s USING (side)
    UNION ALL
    -- which part of idle time and overhead a side carries varies against the other's, and is in no residual: these do not cancel
    SELECT side, 'all', 0, start_s, 'cost_per_accepted_usd', true, loaded, coalesce(direct, 0) FROM spent
    UNION ALL
    SELECT side, 'all', 0, start_s, 'direct_cost_per_accepted_usd', true, direct, direct FROM spent
),
counted AS (
    SELECT
        r.*, coalesce(w.length_s, e.base_s) AS length_s, length_s / e.base_s AS part,
        CASE WHEN w.is_apart THEN side[1] ELSE 'AB' END AS whose,
        sum(length_s) FILTER (WHERE is_drawn) OVER (PARTITION BY side, dimension, place, metric) / e.base_s AS windows
    FROM residuals AS r
    LEFT JOIN compared_windows AS w USING (side, start_s)
    CROSS JOIN (SELECT any_value(base_s) AS base_s FROM compared_windows) AS e
    WHERE residual IS NOT NULL
),
drawn AS (
    -- less than two windows show nothing of how others vary
    SELECT *, sqrt(windows / (windows - 1)) AS few FROM (SELECT * FROM counted WHERE windows >= 2)
)
SELECT side, dimension, place, metric, start_s, whose, part, is_drawn, few * residual AS error, few * common AS cancels
FROM drawn
