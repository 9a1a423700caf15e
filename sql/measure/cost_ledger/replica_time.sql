-- description: Time that a replica was up in each step, how much of it each basis of cost alone covers, and its part of what its pool is paid
-- grain: replica, step_s
-- reads: cost_pieces, ledger_options, pool_time, replica_hours, replica_life, target_hours
-- unit: nanoseconds; seen by samples or attempts; own: shares of the records' time that no better basis covers, pool_usd: of what is
-- paid for the pool that which falls to it, both by rank of the basis
-- A replica is up while samples or attempts show it (replica_life), and while it was billed. What is paid for a pool is, at each
-- moment, shared by the replicas seen then. pool_error_usd: by how much less it may be, had all been up that nothing samples.
WITH spans AS (
    SELECT replica, from_ns, until_ns AS to_ns, state AS source FROM replica_life
    UNION ALL
    SELECT replica, from_ns, to_ns, 'own' || rank FROM cost_pieces WHERE level = 'replica'
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
),
paid AS (
    SELECT
        s.* EXCLUDE (from_ns), h.pool, p.possible, p.seen AS seen_of_pool,
        coalesce(p.paid1, false) AS pool1, coalesce(p.paid2, false) AS pool2, coalesce(p.paid3, false) AS pool3,
        CASE WHEN s.seen AND p.seen > 0 THEN s.long_ns / 1e9 / p.seen END AS share_s,
        -- while nothing is paid the cost is not known: it is not 0
        CASE WHEN pool1 THEN p.usd_per_s1 * share_s END AS usd1,
        CASE WHEN pool2 AND NOT (own1 OR pool1) THEN p.usd_per_s2 * share_s END AS usd2,
        CASE WHEN pool3 AND NOT (own1 OR pool1 OR own2 OR pool2) THEN p.usd_per_s3 * share_s END AS usd3
    FROM stretches AS s
    JOIN replica_hours AS h ON h.replica = s.replica AND h.epoch_hour = s.step_s // 3600
    ASOF LEFT JOIN pool_time AS p ON p.pool = h.pool AND p.step_s = s.step_s AND p.from_ns <= s.from_ns
),
summed AS (
    SELECT
        replica, step_s, pool,
        sum(CASE WHEN seen OR own1 OR own2 OR own3 THEN long_ns ELSE 0 END)::BIGINT AS up_ns,
        sum(CASE WHEN seen THEN long_ns ELSE 0 END)::BIGINT AS seen_ns,
        sum(CASE WHEN busy THEN long_ns ELSE 0 END)::BIGINT AS busy_ns,
        sum(CASE WHEN seen AND NOT (own1 OR own2 OR own3 OR pool1 OR pool2 OR pool3) THEN long_ns ELSE 0 END)::BIGINT AS rated_ns,
        ratio(sum(CASE WHEN own2 AND NOT (own1 OR pool1) THEN long_ns ELSE 0 END), sum(long_ns) FILTER (WHERE own2)) AS own2,
        ratio(sum(CASE WHEN own3 AND NOT (own1 OR pool1 OR own2 OR pool2) THEN long_ns ELSE 0 END), sum(long_ns) FILTER (WHERE own3)) AS own3,
        sum_usd(usd1) AS usd1, sum_usd(usd2) AS usd2, sum_usd(usd3) AS usd3,
        coalesce(sum_usd(abs(coalesce(usd1, 0) + coalesce(usd2, 0) + coalesce(usd3, 0)) * (1 - ratio(seen_of_pool, possible))), 0)
            AS pool_error_usd
    FROM paid
    GROUP BY replica, step_s, pool
)
SELECT
    replica, step_s, pool, up_ns, seen_ns, busy_ns, rated_ns,
    -- a charge of no duration covers nothing and nothing covers it
    [1.0, coalesce(own2, 1.0), coalesce(own3, 1.0)] AS own_shares,
    [usd1, usd2, usd3] AS pool_usd,
    pool_error_usd
FROM summed
