-- description: Time that a replica was up in each step, and how much of what its pool is paid then may be others' (docs/semantics.md#what-a-replica-costs)
-- grain: replica, step_s
-- reads: paid_stretches
-- unit: nanoseconds; seen by samples or attempts; rated: seen while no record covers it
-- A replica is up while samples or attempts show it (replica_life), and while it was billed. What is paid for a pool is, at each
-- moment, shared by the replicas seen then. pool_error_usd: by how much less it may be, had all been up that nothing samples.
WITH shared AS (
    SELECT
        *,
        CASE WHEN seen AND seen_of_pool > 0 THEN
            coalesce(usd_per_s1, 0)
            + CASE WHEN displaced2 THEN 0 ELSE coalesce(usd_per_s2, 0) END
            + CASE WHEN displaced3 THEN 0 ELSE coalesce(usd_per_s3, 0) END
        END * long_ns / 1e9 / seen_of_pool AS pool_usd
    FROM paid_stretches
)
SELECT
    replica, step_s, pool,
    sum(CASE WHEN seen OR own1 OR own2 OR own3 THEN long_ns ELSE 0 END)::BIGINT AS up_ns,
    sum(CASE WHEN seen THEN long_ns ELSE 0 END)::BIGINT AS seen_ns,
    sum(CASE WHEN busy THEN long_ns ELSE 0 END)::BIGINT AS busy_ns,
    sum(CASE WHEN seen AND NOT (own1 OR own2 OR own3 OR pool1 OR pool2 OR pool3) THEN long_ns ELSE 0 END)::BIGINT AS rated_ns,
    coalesce(sum_usd(abs(pool_usd) * (1 - ratio(seen_of_pool, possible))), 0) AS pool_error_usd
FROM shared
GROUP BY replica, step_s, pool
