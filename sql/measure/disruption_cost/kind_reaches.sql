-- description: How far what all disruptions of a kind cost and lost reaches with what is not known of their pools' steady time and of their own labels
-- grain: kind (NULL: all kinds), pool (NULL: all pools)
-- reads: kind_disruptions, kind_samples
-- unit: cost in dollars, lost in accepted requests: low, high: of steady time at their loads; sampled: of their own labels; open_*: of what has none
WITH own AS (
    -- disruptions of one load have the same steady windows: what these leave open adds up
    SELECT
        kind, pool,
        ratio(sum(there_usd ORDER BY disruption), sum(there_accepted ORDER BY disruption)) AS usual_price,
        CASE WHEN count(reach_low_usd) = count(*) THEN sum(reach_low_usd ORDER BY disruption) END AS low_usd,
        CASE WHEN count(reach_high_usd) = count(*) THEN sum(reach_high_usd ORDER BY disruption) END AS high_usd,
        CASE WHEN count(reach_low_lost) = count(*) THEN sum(reach_low_lost ORDER BY disruption) END AS low_lost,
        CASE WHEN count(reach_high_lost) = count(*) THEN sum(reach_high_lost ORDER BY disruption) END AS high_lost
    FROM kind_disruptions
    WHERE pool IS NOT NULL
    GROUP BY ALL
),
reaches AS (
    SELECT
        o.kind, o.pool,
        {
            low: low_usd, high: high_usd,
            sampled: usual_price * coalesce(greatest(l.below, l.above), 0),
            open_low: usual_price * coalesce(l.open_above, 0), open_high: usual_price * coalesce(l.open_below, 0)
        } AS cost,
        {
            low: low_lost, high: high_lost,
            sampled: coalesce(greatest(l.below, l.above), 0),
            open_low: coalesce(l.open_above, 0), open_high: coalesce(l.open_below, 0)
        } AS lost
    FROM own AS o
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
