-- description: What each disruption of a kind cost and lost beside its pools' steady time at its load
-- grain: kind (NULL: all kinds), pool (NULL: all pools), disruption
-- reads: kind_accepted, steady_beside
-- unit: reach_*: how far what steady time costs and accepts may be off, to either side; there_*: what so many
-- steady windows cost and accept at its load, and half the interval of that cost
WITH placed AS (
    SELECT
        kind, pool, stretch, disruption,
        count(*) AS windows, sum(offered)::BIGINT AS offered, sum(accepted ORDER BY start_s) AS accepted,
        CASE WHEN count(cost_usd) = count(*) THEN sum(cost_usd ORDER BY start_s) END AS cost_usd
    FROM kind_accepted
    WHERE NOT is_steady
    GROUP BY ALL
),
beside AS (
    SELECT
        p.*,
        -- no row: the pool has no steady windows
        CASE WHEN s.pool IS NULL THEN 'few_windows' ELSE s.no_price END AS no_price,
        p.windows * s.there.cost_usd AS there_usd, p.windows * s.there.accepted AS there_accepted,
        CASE WHEN s.cost.high IS NOT NULL
            THEN there_accepted * greatest(s.cost.high - s.cost.value, s.cost.value - s.cost.low) END AS there_half_usd,
        p.cost_usd - p.accepted * s.cost.value AS excess_cost_usd,
        p.offered * s.goodput.value - p.accepted AS lost_accepted,
        -- dearer steady time leaves less excess
        {low: p.accepted * (s.cost.high - s.cost.value), high: p.accepted * (s.cost.value - s.cost.low)} AS reach_usd,
        {low: p.offered * (s.goodput.value - s.goodput.low), high: p.offered * (s.goodput.high - s.goodput.value)} AS reach_lost
    FROM placed AS p
    LEFT JOIN steady_beside AS s ON s.kind IS NOT DISTINCT FROM p.kind AND s.pool = p.pool AND s.stretch = p.stretch
)
SELECT
    kind, pool, coalesce(disruption, stretch::VARCHAR) AS disruption,
    sum(windows)::BIGINT AS windows, sum(offered)::BIGINT AS offered, sum(accepted ORDER BY pool) AS accepted,
    first_reason(no_price) AS no_price,
    CASE WHEN count(there_usd) = count(*) THEN sum(there_usd ORDER BY pool) END AS there_usd,
    CASE WHEN count(there_accepted) = count(*) THEN sum(there_accepted ORDER BY pool) END AS there_accepted,
    CASE WHEN count(there_half_usd) = count(*) THEN sum(there_half_usd ORDER BY pool) END AS there_half_usd,
    CASE WHEN count(cost_usd) = count(*) THEN sum(cost_usd ORDER BY pool) END AS cost_usd,
    CASE WHEN count(excess_cost_usd) = count(*) THEN sum(excess_cost_usd ORDER BY pool) END AS excess_cost_usd,
    CASE WHEN count(lost_accepted) = count(*) THEN sum(lost_accepted ORDER BY pool) END AS lost_accepted,
    CASE WHEN count(reach_usd.low) = count(*) THEN sum(reach_usd.low ORDER BY pool) END AS reach_low_usd,
    CASE WHEN count(reach_usd.high) = count(*) THEN sum(reach_usd.high ORDER BY pool) END AS reach_high_usd,
    CASE WHEN count(reach_lost.low) = count(*) THEN sum(reach_lost.low ORDER BY pool) END AS reach_low_lost,
    CASE WHEN count(reach_lost.high) = count(*) THEN sum(reach_lost.high ORDER BY pool) END AS reach_high_lost
FROM beside
GROUP BY GROUPING SETS ((kind, pool, stretch), (kind, disruption))
