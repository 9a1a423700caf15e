-- description: Each kind of operation over all of its disruptions: totals, and how disruptions vary about them
-- grain: kind (NULL: all kinds), pool (NULL: all pools)
-- reads: kind_disruptions, kind_reaches, kind_samples
-- unit: disruptions are the sample, three of them at least: of fewer there are no intervals; moments: sums of squares and
-- products about the means
WITH totals AS (
    SELECT
        kind, pool,
        count(*) AS disruptions, sum(windows)::BIGINT AS windows, sum(offered)::BIGINT AS offered,
        sum(accepted ORDER BY disruption) AS accepted,
        first_reason(no_price) AS no_price,
        CASE WHEN count(there_usd) = count(*) THEN sum(there_usd ORDER BY disruption) END AS there_usd,
        CASE WHEN count(there_accepted) = count(*) THEN sum(there_accepted ORDER BY disruption) END AS there_accepted,
        CASE WHEN count(there_half_usd) = count(*) THEN sum(there_half_usd ORDER BY disruption) END AS there_half_usd,
        CASE WHEN count(cost_usd) = count(*) THEN sum(cost_usd ORDER BY disruption) END AS cost_usd,
        CASE WHEN count(excess_cost_usd) = count(*) THEN sum(excess_cost_usd ORDER BY disruption) END AS excess_cost_usd,
        CASE WHEN count(lost_accepted) = count(*) THEN sum(lost_accepted ORDER BY disruption) END AS lost_accepted,
        total_half(count(*), var_pop(excess_cost_usd ORDER BY disruption) * count(*)) AS excess_half,
        total_half(count(*), var_pop(lost_accepted ORDER BY disruption) * count(*)) AS lost_half,
        {
            xx: regr_sxx(cost_usd, accepted ORDER BY disruption), xy: regr_sxy(cost_usd, accepted ORDER BY disruption),
            yy: regr_syy(cost_usd, accepted ORDER BY disruption)
        } AS moments
    FROM kind_disruptions
    GROUP BY ALL
),
worked AS (
    SELECT
        t.* EXCLUDE (cost_usd, accepted, moments, excess_half, lost_half, there_usd, there_accepted, there_half_usd),
        {
            units: CASE WHEN disruptions >= 3 THEN disruptions END, cost_usd: cost_usd, accepted: accepted, moments: moments,
            sampled: coalesce(greatest(s.below, s.above), 0),
            open_below: coalesce(s.open_below, 0), open_above: coalesce(s.open_above, 0)
        } AS work,
        ratio(cost_usd, accepted) AS price,
        {cost_usd: there_usd, accepted: there_accepted, half_usd: there_half_usd} AS usual,
        r.cost, r.lost,
        at_least(excess_half, r.cost.sampled) AS excess_half, at_least(lost_half, r.lost.sampled) AS lost_half
    FROM totals AS t
    JOIN kind_reaches AS r ON r.kind IS NOT DISTINCT FROM t.kind AND r.pool IS NOT DISTINCT FROM t.pool
    LEFT JOIN (FROM kind_samples WHERE NOT is_steady) AS s ON s.kind IS NOT DISTINCT FROM t.kind AND s.pool IS NOT DISTINCT FROM t.pool
)
SELECT
    kind, pool, disruptions, windows, offered, no_price, excess_cost_usd, lost_accepted, work, usual,
    unit_cost(work, price) AS cost,
    CASE WHEN disruptions >= 3 THEN {
        low: excess_cost_usd - sqrt(excess_half ** 2 + w.cost.low ** 2) - w.cost.open_low,
        high: excess_cost_usd + sqrt(excess_half ** 2 + w.cost.high ** 2) + w.cost.open_high
    } END AS excess,
    CASE WHEN disruptions >= 3 THEN {
        low: lost_accepted - sqrt(lost_half ** 2 + w.lost.low ** 2) - w.lost.open_low,
        high: lost_accepted + sqrt(lost_half ** 2 + w.lost.high ** 2) + w.lost.open_high
    } END AS lost
FROM worked AS w
