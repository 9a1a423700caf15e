-- description: Replicas that bills name in hours in which telemetry does not show them, and does within a day (docs/semantics.md#what-a-replica-costs)
-- grain: replica, epoch_hour
-- reads: cost_records, known_replicas
-- As it was in the nearest hour before, else in the nearest after. Of a pool that is billed in an hour without telemetry of it
-- one of its replicas stands for the pool. Before the first hour of all telemetry and after its last nobody knows what idled.
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
named AS (
    SELECT DISTINCT b.replica, b.epoch_hour
    FROM billed AS b
    ANTI JOIN known_replicas AS k ON k.replica = b.replica AND k.epoch_hour = b.epoch_hour
    WHERE b.replica IS NOT NULL
),
near AS (
    SELECT n.replica, n.epoch_hour, coalesce(b.pool, a.pool) AS pool, coalesce(b.by_engine, a.by_engine) AS by_engine
    FROM named AS n
    ASOF LEFT JOIN known_replicas AS b ON b.replica = n.replica AND b.epoch_hour <= n.epoch_hour
    ASOF LEFT JOIN known_replicas AS a ON a.replica = n.replica AND a.epoch_hour >= n.epoch_hour
    WHERE coalesce(b.epoch_hour >= n.epoch_hour - 24, false) OR coalesce(a.epoch_hour <= n.epoch_hour + 24, false)
),
served AS (
    SELECT pool, epoch_hour, min(replica) AS replica, bool_or(by_engine) AS by_engine
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
        CASE WHEN coalesce(b.epoch_hour >= u.epoch_hour - 24, false) THEN b.replica ELSE a.replica END AS replica,
        u.epoch_hour, u.pool, coalesce(b.by_engine, a.by_engine) AS by_engine
    FROM unserved AS u
    ASOF LEFT JOIN served AS b ON b.pool = u.pool AND b.epoch_hour <= u.epoch_hour
    ASOF LEFT JOIN served AS a ON a.pool = u.pool AND a.epoch_hour >= u.epoch_hour
    WHERE coalesce(b.epoch_hour >= u.epoch_hour - 24, false) OR coalesce(a.epoch_hour <= u.epoch_hour + 24, false)
)
FROM near
UNION ALL
SELECT s.replica, s.epoch_hour, s.pool, s.by_engine
FROM standing AS s
ANTI JOIN known_replicas AS k ON k.replica = s.replica AND k.epoch_hour = s.epoch_hour
ANTI JOIN near AS n ON n.replica = s.replica AND n.epoch_hour = s.epoch_hour
QUALIFY row_number() OVER (PARTITION BY s.replica, s.epoch_hour ORDER BY s.pool) = 1
