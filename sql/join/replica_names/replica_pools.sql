-- description: The pool of each replica in an hour by its own records, where these name exactly one
-- grain: epoch_hour, replica
-- reads: named_replicas, unique_records
SELECT
    coalesce(r.ended_ns, r.started_ns) // 3600000000000 AS epoch_hour,
    coalesce(n.replica, r.replica) AS replica,
    min(r.pool) AS pool
FROM unique_records AS r
LEFT JOIN named_replicas AS n
    ON n.name = r.replica AND n.epoch_hour = coalesce(r.ended_ns, r.started_ns) // 3600000000000
WHERE r.layer = 'engine' AND r.pool IS NOT NULL AND r.replica IS NOT NULL
GROUP BY ALL
HAVING min(r.pool) = max(r.pool)
