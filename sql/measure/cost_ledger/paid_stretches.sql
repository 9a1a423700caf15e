-- description: Stretches of time in which nothing changes of a replica: whether it is seen and busy, and by which bases it and its pool are paid for
-- grain: replica, step_s, from_ns
-- reads: cost_pieces, ledger_options, pool_time, replica_hours, replica_life, target_hours
-- unit: nanoseconds; own1, pool1 ...: whether a record of that basis covers it, of the replica and of its pool; displaced2, displaced3:
-- whether a better basis does; seen_of_pool: how many replicas are seen beside it, possible: how many may be up
WITH spans AS (
    SELECT replica, from_ns, until_ns AS to_ns, state AS source FROM replica_life
    UNION ALL
    SELECT replica, from_ns, to_ns, CASE WHEN covers THEN 'own' || rank ELSE 'added' END FROM cost_pieces WHERE level = 'replica'
    UNION ALL
    SELECT h.replica, p.from_ns, p.to_ns, 'pool'
    FROM pool_time AS p
    JOIN replica_hours AS h ON h.pool = p.pool AND h.epoch_hour = p.step_s // 3600
    -- what is paid for a pool displaces records of its replicas also while none of them is seen
    WHERE p.seen > 0 OR (h.replica, p.step_s) IN (SELECT (replica, step_s) FROM cost_pieces WHERE level = 'replica')
),
split AS (
    SELECT
        replica, source, step * step_ns // 1000000000 AS step_s,
        greatest(from_ns, step * step_ns) AS from_ns,
        least(to_ns, (step + 1) * step_ns) AS to_ns
    FROM (
        SELECT s.*, o.step_ns,
            unnest(range(from_ns // step_ns, greatest(to_ns - 1, from_ns) // step_ns + 1)) AS step
        FROM spans AS s
        CROSS JOIN ledger_options AS o
    )
    WHERE step * step_ns // 3600000000000 IN (SELECT epoch_hour FROM target_hours)
),
moments AS (
    SELECT
        replica, step_s, ns,
        sum(change) FILTER (WHERE source = 'up') AS up,
        sum(change) FILTER (WHERE source = 'busy') AS busy,
        sum(change) FILTER (WHERE source = 'own1') AS own1,
        sum(change) FILTER (WHERE source = 'own2') AS own2,
        sum(change) FILTER (WHERE source = 'own3') AS own3
    FROM (
        SELECT replica, step_s, source, from_ns AS ns, 1 AS change FROM split
        UNION ALL
        SELECT replica, step_s, source, to_ns, -1 FROM split
    )
    GROUP BY replica, step_s, ns
),
stretches AS (
    SELECT
        replica, step_s, ns AS from_ns,
        coalesce(lead(ns) OVER onward - ns, 0) AS long_ns,
        coalesce(sum(up) OVER onward, 0) > 0 AS seen,
        coalesce(sum(busy) OVER onward, 0) > 0 AS busy,
        coalesce(sum(own1) OVER onward, 0) > 0 AS own1,
        coalesce(sum(own2) OVER onward, 0) > 0 AS own2,
        coalesce(sum(own3) OVER onward, 0) > 0 AS own3
    FROM moments
    WINDOW onward AS (PARTITION BY replica, step_s ORDER BY ns)
)
SELECT
    s.*, h.pool, p.possible, p.seen AS seen_of_pool,
    coalesce(p.paid1, false) AS pool1, coalesce(p.paid2, false) AS pool2, coalesce(p.paid3, false) AS pool3,
    own1 OR pool1 AS displaced2, displaced2 OR own2 OR pool2 AS displaced3,
    p.usd_per_s1, p.usd_per_s2, p.usd_per_s3
FROM stretches AS s
JOIN replica_hours AS h ON h.replica = s.replica AND h.epoch_hour = s.step_s // 3600
ASOF LEFT JOIN pool_time AS p ON p.pool = h.pool AND p.step_s = s.step_s AND p.from_ns <= s.from_ns
