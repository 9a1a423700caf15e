-- description: Replicas that bills name in hours in which telemetry does not show that name of theirs, and does within a day (docs/semantics.md#what-a-replica-costs)
-- grain: replica, epoch_hour
-- reads: cost_records, known_replicas
-- As it was in the nearest hour before, else in the nearest after. Of a pool that is billed in an hour without telemetry of it
-- a replica without a name stands for the pool. Before the first hour of all telemetry and after its last nobody knows what idled.
WITH observed AS (
    SELECT min(epoch_hour) AS first_hour, max(epoch_hour) AS last_hour FROM known_replicas
),
billed AS (
    SELECT DISTINCT replica, pool, unnest(range(
        greatest(epoch_us(period_start) // 3600000000, first_hour),
        least(greatest(epoch_us(period_end) - 1, epoch_us(period_start)) // 3600000000, last_hour) + 1)) AS epoch_hour
    FROM cost_records
    CROSS JOIN observed
    WHERE basis <> 'overhead' AND coalesce(replica, pool) IS NOT NULL
),
known AS (
    SELECT epoch_hour, name, replica, pool, by_engine
    FROM (SELECT epoch_hour, replica, pool, by_engine, unnest(list_prepend(replica, coalesce(other_names, []))) AS name FROM known_replicas)
    QUALIFY row_number() OVER (PARTITION BY epoch_hour, name ORDER BY name = replica DESC, replica) = 1
),
named AS (
    SELECT DISTINCT b.replica AS name, b.epoch_hour
    FROM billed AS b
    ANTI JOIN known AS k ON k.name = b.replica AND k.epoch_hour = b.epoch_hour
    WHERE b.replica IS NOT NULL
),
near AS (
    SELECT
        n.name, n.epoch_hour,
        -- another replica may have had the name before
        a.replica <> b.replica AND b.epoch_hour < n.epoch_hour - 24 AS is_next,
        CASE WHEN is_next THEN a.replica ELSE coalesce(b.replica, a.replica) END AS replica,
        CASE WHEN is_next OR b.replica IS NULL THEN a.pool WHEN a.replica <> b.replica THEN b.pool ELSE coalesce(b.pool, a.pool) END AS pool,
        CASE WHEN is_next THEN a.by_engine ELSE coalesce(b.by_engine, a.by_engine) END AS by_engine
    FROM named AS n
    ASOF LEFT JOIN known AS b ON b.name = n.name AND b.epoch_hour <= n.epoch_hour
    ASOF LEFT JOIN known AS a ON a.name = n.name AND a.epoch_hour >= n.epoch_hour
    WHERE coalesce(b.epoch_hour >= n.epoch_hour - 24, false) OR coalesce(a.epoch_hour <= n.epoch_hour + 24, false)
),
served AS (
    SELECT pool, epoch_hour, bool_or(by_engine) AS by_engine
    FROM known_replicas
    WHERE pool IS NOT NULL
    GROUP BY ALL
),
unserved AS (
    SELECT DISTINCT b.pool, b.epoch_hour
    FROM billed AS b
    ANTI JOIN served AS s ON s.pool = b.pool AND s.epoch_hour = b.epoch_hour
    ANTI JOIN near AS n ON n.pool = b.pool AND n.epoch_hour = b.epoch_hour
    WHERE b.pool IS NOT NULL
),
standing AS (
    SELECT
        -- a name that no replica has: the pool's own may be shown in that hour, by attempts that name no pool
        chr(0) || u.pool AS replica, u.epoch_hour, u.pool, coalesce(b.by_engine, a.by_engine) AS by_engine
    FROM unserved AS u
    ASOF LEFT JOIN served AS b ON b.pool = u.pool AND b.epoch_hour <= u.epoch_hour
    ASOF LEFT JOIN served AS a ON a.pool = u.pool AND a.epoch_hour >= u.epoch_hour
    WHERE coalesce(b.epoch_hour >= u.epoch_hour - 24, false) OR coalesce(a.epoch_hour <= u.epoch_hour + 24, false)
)
SELECT replica, epoch_hour, min(pool) AS pool, bool_or(by_engine) AS by_engine, list(name ORDER BY name) AS names
FROM near
GROUP BY replica, epoch_hour
UNION ALL
SELECT replica, epoch_hour, pool, by_engine, [] FROM standing
