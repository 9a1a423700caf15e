-- description: What each base window adds to the error of each estimate of a side; their squares add up to its variance over windows
-- grain: side, dimension, place, metric, start_s
-- reads: compared_costs, compared_sides, compared_spending, compared_totals, compared_units, compared_windows
-- unit: error is in the estimate's own unit; is_drawn: the window is one of those that the variance is taken over
WITH residuals AS (
    SELECT
        u.side, u.dimension, u.place, u.unit::BIGINT AS start_s,
        unnest([
            {metric: 'goodput_ratio', residual: (u.estimate - u.n * t.estimate / t.n) / t.n, is_drawn: true},
            {metric: 'quality_ratio', residual: u.quality / t.mixed, is_drawn: u.is_judged}
        ], max_depth := 2)
    FROM compared_units AS u
    JOIN compared_totals AS t USING (side, dimension, place)
    WHERE u.kind = 'window'
    UNION ALL
    SELECT
        w.side, 'all', 0, w.start_s,
        unnest([
            {metric: 'throughput_rps', residual: w.succeeded / s.time_s - s.throughput_rps.value / s.windows, is_drawn: true},
            {metric: 'goodput_rps', residual: w.estimate / s.time_s - s.goodput_rps.value / s.windows, is_drawn: true}
        ], max_depth := 2)
    FROM compared_windows AS w
    JOIN compared_sides AS s USING (side)
    UNION ALL
    SELECT
        w.side, 'all', 0, w.start_s,
        unnest([{
            metric: 'cost_per_accepted_usd',
            residual: (w.loaded_usd - w.estimate * c.cost_per_accepted_usd.value) / s.estimate,
            is_drawn: true
        }, {
            metric: 'direct_cost_per_accepted_usd',
            residual: CASE WHEN w.is_served THEN (w.direct_usd - w.estimate * c.direct_cost_per_accepted_usd.value) / s.estimate END,
            is_drawn: true
        }], max_depth := 2)
    FROM compared_spending AS w
    JOIN compared_costs AS c USING (side)
    JOIN compared_sides AS s USING (side)
),
counted AS (
    SELECT *, count(*) FILTER (WHERE is_drawn) OVER (PARTITION BY side, dimension, place, metric) AS windows
    FROM residuals
    WHERE residual IS NOT NULL
)
SELECT side, dimension, place, metric, start_s, is_drawn, residual * sqrt(windows / (windows - 1)) AS error
FROM counted
-- one window shows nothing of how others vary
WHERE windows > 1
