-- description: How far what all disruptions of a kind cost and lost reaches with what is not known of their pools' steady time and of their own labels
-- grain: kind (NULL: all kinds), pool (NULL: all pools)
-- reads: kind_disruptions, kind_samples, steady_rates
-- unit: cost in dollars, lost in accepted requests: low, high: of steady time; sampled: of their own labels; open_*: of what has none
WITH own AS (
    SELECT kind, pool, sum(offered)::BIGINT AS offered, sum(accepted ORDER BY disruption) AS accepted
    FROM kind_disruptions
    WHERE pool IS NOT NULL
    GROUP BY ALL
),
reaches AS (
    SELECT
        o.kind, o.pool,
        -- dearer steady time leaves less excess
        {
            low: o.accepted * (s.cost.high - s.cost.value), high: o.accepted * (s.cost.value - s.cost.low),
            sampled: s.cost.value * coalesce(greatest(l.below, l.above), 0),
            open_low: s.cost.value * coalesce(l.open_above, 0), open_high: s.cost.value * coalesce(l.open_below, 0)
        } AS cost,
        {
            low: o.offered * (s.goodput.value - s.goodput.low), high: o.offered * (s.goodput.high - s.goodput.value),
            sampled: coalesce(greatest(l.below, l.above), 0),
            open_low: coalesce(l.open_above, 0), open_high: coalesce(l.open_below, 0)
        } AS lost
    FROM own AS o
    LEFT JOIN steady_rates AS s ON s.pool = o.pool
    LEFT JOIN (FROM kind_samples WHERE NOT is_steady) AS l ON l.pool = o.pool AND l.kind IS NOT DISTINCT FROM o.kind
)
SELECT
    kind, pool,
    {
        low: in_quadrature(list(cost.low ORDER BY pool)), high: in_quadrature(list(cost.high ORDER BY pool)), sampled: in_quadrature(list(cost.sampled ORDER BY pool)),
        open_low: sum(cost.open_low ORDER BY pool), open_high: sum(cost.open_high ORDER BY pool)
    } AS cost,
    {
        low: in_quadrature(list(lost.low ORDER BY pool)), high: in_quadrature(list(lost.high ORDER BY pool)), sampled: in_quadrature(list(lost.sampled ORDER BY pool)),
        open_low: sum(lost.open_low ORDER BY pool), open_high: sum(lost.open_high ORDER BY pool)
    } AS lost
FROM reaches
GROUP BY GROUPING SETS ((kind, pool), (kind))
