-- description: What the records of each billing source charge for each replica in a step, and what of that a better basis displaces (docs/semantics.md#what-a-replica-costs)
-- grain: level, payer, replica, step_s, dialect, basis, covers
-- reads: cost_pieces, paid_stretches, pool_time, replica_time, source_rates
-- unit: payer is the replica or pool that is charged for; replica NULL: what is charged for a pool while none of its replicas is seen
-- A charge of no duration covers nothing and nothing covers it: one for a pool is shared by the time that its replicas were seen.
WITH paid AS (
    SELECT
        r.level, r.payer, s.replica, r.step_s, r.rank, r.dialect, r.basis, r.covers, r.usd_per_s * s.long_ns / 1e9 AS usd,
        r.rank = 2 AND s.displaced2 OR r.rank = 3 AND s.displaced3 AS displaced
    FROM source_rates AS r
    JOIN paid_stretches AS s ON s.replica = r.payer AND s.step_s = r.step_s AND s.from_ns >= r.from_ns AND s.from_ns < r.to_ns
    WHERE r.level = 'replica'
    UNION ALL
    SELECT
        r.level, r.payer, s.replica, r.step_s, r.rank, r.dialect, r.basis, r.covers, r.usd_per_s * s.long_ns / 1e9 / s.seen_of_pool,
        r.rank = 2 AND s.displaced2 OR r.rank = 3 AND s.displaced3
    FROM source_rates AS r
    JOIN paid_stretches AS s ON s.pool = r.payer AND s.step_s = r.step_s AND s.from_ns >= r.from_ns AND s.from_ns < r.to_ns
    WHERE r.level = 'pool' AND s.seen AND s.seen_of_pool > 0
    UNION ALL
    SELECT
        r.level, r.payer, NULL, r.step_s, r.rank, r.dialect, r.basis, r.covers, r.usd_per_s * (p.to_ns - p.from_ns) / 1e9,
        r.rank = 2 AND p.paid1 OR r.rank = 3 AND (p.paid1 OR p.paid2)
    FROM source_rates AS r
    JOIN pool_time AS p ON p.pool = r.payer AND p.step_s = r.step_s AND p.from_ns >= r.from_ns AND p.from_ns < r.to_ns
    WHERE r.level = 'pool' AND p.seen = 0
    UNION ALL
    SELECT level, replica, replica, step_s, rank, dialect, basis, covers, usd, false
    FROM cost_pieces
    WHERE level = 'replica' AND to_ns = from_ns
    UNION ALL
    SELECT c.level, c.pool, t.replica, c.step_s, c.rank, c.dialect, c.basis, c.covers, c.usd * coalesce(t.share, 1), false
    FROM cost_pieces AS c
    LEFT JOIN (
        SELECT pool, step_s, replica, seen_ns / sum(seen_ns) OVER (PARTITION BY pool, step_s) AS share
        FROM replica_time
        WHERE seen_ns > 0
    ) AS t ON t.pool = c.pool AND t.step_s = c.step_s
    WHERE c.level = 'pool' AND c.is_pool_known AND c.to_ns = c.from_ns
)
SELECT
    level, payer, replica, step_s, rank, dialect, basis, covers,
    sum_usd(CASE WHEN displaced THEN 0 ELSE usd END) AS usd,
    sum_usd(CASE WHEN displaced THEN usd ELSE 0 END) AS displaced_usd
FROM paid
GROUP BY ALL
