-- description: Replicas known to telemetry, hour by hour: the pool that they serve and what the settings charge for them
-- grain: replica, epoch_hour
-- reads: ledger_pieces, rates, replica_samples
-- A replica's pool is the one most of its attempts of the hour name, else its samples: so slices agree with those of `goodput`.
WITH reported AS (
    SELECT replica, step_s // 3600 AS epoch_hour, pool, count(*) AS times, true AS attempted, bool_or(engine_seen) AS by_engine
    FROM ledger_pieces
    WHERE replica IS NOT NULL
    GROUP BY ALL
    UNION ALL
    SELECT replica, sampled_ns // 3600000000000, pool, count(*), false, true
    FROM replica_samples
    WHERE layer = 'engine'
    GROUP BY ALL
),
known AS (
    SELECT
        replica, epoch_hour,
        first(pool ORDER BY attempted DESC, times DESC, pool) FILTER (WHERE pool IS NOT NULL) AS pool,
        bool_or(NOT attempted) AS sampled,
        bool_or(by_engine) AS by_engine
    FROM reported
    GROUP BY replica, epoch_hour
),
rated AS (
    SELECT k.replica, k.pool, r.usd_per_s, r.gpus
    FROM (SELECT DISTINCT replica, pool FROM known) AS k
    JOIN rates AS r
        ON (r.pool IS NULL OR len(list_filter(r.pool, lambda g: coalesce(k.pool, '') GLOB g)) > 0)
        AND (r.replica IS NULL OR len(list_filter(r.replica, lambda g: k.replica GLOB g)) > 0)
    QUALIFY row_number() OVER (PARTITION BY k.replica, k.pool ORDER BY r.ordinal) = 1
)
SELECT k.*, r.usd_per_s, coalesce(r.gpus, 1.0) AS gpus
FROM known AS k
LEFT JOIN rated AS r ON r.replica = k.replica AND r.pool IS NOT DISTINCT FROM k.pool
