-- description: For each request that ended in a pool and hour, how many that no telemetry shows (docs/semantics.md#coverage)
-- grain: epoch_hour, pool
-- reads: coverage, requests
-- What the replicas of a pool miss is shared by the requests that ended in it; of a pool without any, by those of all pools.
WITH ended AS (
    SELECT epoch_us(ended_at) // 3600000000 AS epoch_hour, coalesce(pool, 'unknown') AS pool, count(*) AS requests
    FROM requests
    WHERE verdict <> 'in_flight'
    GROUP BY ALL
),
missed AS (
    SELECT
        epoch_us(c.window_start) // 3600000000 AS epoch_hour,
        CASE WHEN e.pool IS NOT NULL THEN e.pool END AS pool,
        sum(c.requests_unobserved) AS missed
    FROM coverage AS c
    LEFT JOIN ended AS e ON e.pool = c.pool AND e.epoch_hour = epoch_us(c.window_start) // 3600000000
    WHERE c.requests_unobserved IS NOT NULL
    GROUP BY ALL
)
SELECT
    e.epoch_hour, e.pool,
    CASE WHEN m.missed IS NOT NULL OR a.missed IS NOT NULL
        THEN coalesce(m.missed / e.requests, 0) + coalesce(a.missed / sum(e.requests) OVER (PARTITION BY e.epoch_hour), 0)
    END AS unobserved
FROM ended AS e
LEFT JOIN missed AS m ON m.epoch_hour = e.epoch_hour AND m.pool = e.pool
LEFT JOIN missed AS a ON a.epoch_hour = e.epoch_hour AND a.pool IS NULL
