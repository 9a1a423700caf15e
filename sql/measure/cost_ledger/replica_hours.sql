-- description: Replicas whose cost of an hour is known or asked for: all their names, the pool that they serve and what the settings charge for them
-- grain: replica, epoch_hour
-- reads: absent_replicas, known_replicas, rates
WITH shown AS (
    SELECT
        replica, epoch_hour, {'pool': pool, 'sampled': sampled, 'by_engine': by_engine} AS facts,
        list_prepend(replica, coalesce(other_names, [])) AS names,
        true AS is_shown
    FROM known_replicas
    UNION ALL
    SELECT replica, epoch_hour, {'pool': pool, 'sampled': false, 'by_engine': by_engine}, names, false FROM absent_replicas
),
known AS (
    SELECT replica, epoch_hour, unnest(arg_max(facts, is_shown)), flatten(list(names)) AS names
    FROM shown
    GROUP BY replica, epoch_hour
),
rated AS (
    SELECT k.replica, k.pool, r.usd_per_s, r.gpus
    FROM (SELECT DISTINCT replica, pool FROM known) AS k
    JOIN rates AS r
        ON matches_any(k.pool, r.pool) AND matches_any(k.replica, r.replica)
    QUALIFY row_number() OVER (PARTITION BY k.replica, k.pool ORDER BY r.ordinal) = 1
)
SELECT k.*, r.usd_per_s, coalesce(r.gpus, 1.0) AS gpus
FROM known AS k
LEFT JOIN rated AS r ON r.replica = k.replica AND r.pool IS NOT DISTINCT FROM k.pool
