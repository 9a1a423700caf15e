-- description: What each replica cost in a step, and which part of that it was busy (docs/semantics.md#money)
-- grain: replica, step_s
-- reads: replica_hours, replica_time, source_charges
-- unit: usd is NULL where neither a cost record nor a rate gives the replica's cost: it is never guessed; error_ratio: by which part of
-- usd it may be off, as its pool's cost is shared with replicas that nothing samples
-- A replica counts as one GPU where no rate gives its number.
WITH live AS (
    SELECT t.*, h.sampled, h.by_engine, h.usd_per_s, h.gpus
    FROM replica_time AS t
    JOIN replica_hours AS h ON h.replica = t.replica AND h.epoch_hour = t.step_s // 3600
),
charged AS (
    SELECT replica, step_s, rank, usd, level = 'pool' AS is_for_pool FROM source_charges WHERE replica IS NOT NULL
    UNION ALL
    SELECT replica, step_s, 3, usd_per_s * rated_ns / 1e9, false FROM live WHERE usd_per_s IS NOT NULL
),
summed AS (
    SELECT
        replica, step_s, min(rank) FILTER (WHERE usd <> 0) AS rank, sum_usd(usd) AS usd,
        sum_usd(CASE WHEN is_for_pool THEN 0 ELSE usd END) AS own_usd, sum_usd(CASE WHEN is_for_pool THEN usd ELSE 0 END) AS pool_usd
    FROM charged
    WHERE usd IS NOT NULL
    GROUP BY replica, step_s
)
SELECT
    l.replica, l.step_s, l.pool, l.sampled, l.by_engine,
    s.usd, s.own_usd, s.pool_usd,
    ['billing', 'allocation', 'rate_card'][s.rank] AS basis,
    l.up_ns / 1e9 * l.gpus AS gpu_s,
    coalesce(ratio(l.busy_ns, l.up_ns), 0) AS busy_ratio,
    (l.up_ns - l.busy_ns) / 1e9 AS idle_s,
    coalesce(ratio(l.pool_error_usd, abs(s.usd)), 0) AS error_ratio
FROM live AS l
LEFT JOIN summed AS s USING (replica, step_s)
