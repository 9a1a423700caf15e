-- description: What each disruption of a kind cost and lost beside its pools' steady time
-- grain: kind (NULL: all kinds), pool (NULL: all pools), disruption
-- reads: kind_accepted, steady_rates
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
        p.cost_usd - p.accepted * s.cost.value AS excess_cost_usd,
        p.offered * s.goodput.value - p.accepted AS lost_accepted
    FROM placed AS p
    LEFT JOIN steady_rates AS s ON s.pool = p.pool
)
SELECT
    kind, pool, coalesce(disruption, stretch::VARCHAR) AS disruption,
    sum(windows)::BIGINT AS windows, sum(offered)::BIGINT AS offered, sum(accepted ORDER BY pool) AS accepted,
    CASE WHEN count(cost_usd) = count(*) THEN sum(cost_usd ORDER BY pool) END AS cost_usd,
    CASE WHEN count(excess_cost_usd) = count(*) THEN sum(excess_cost_usd ORDER BY pool) END AS excess_cost_usd,
    CASE WHEN count(lost_accepted) = count(*) THEN sum(lost_accepted ORDER BY pool) END AS lost_accepted
FROM beside
GROUP BY GROUPING SETS ((kind, pool, stretch), (kind, disruption))
