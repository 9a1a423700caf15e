-- description: What each replica cost in a step, and which part of that it was busy (docs/semantics.md#money)
-- grain: replica, step_s
-- reads: replica_hours, replica_time, source_charges
-- unit: usd is NULL where neither a cost record nor a rate gives the replica's cost: it is never guessed; error_ratio: by which part of
-- usd it may be off, as its pool's cost is shared with replicas that nothing samples
-- added_usd: credits, taxes and adjustments, as are in usd; overhead_usd: all there is of a replica that nothing prices.
-- A replica counts as one GPU where no rate gives its number.
WITH live AS (
    SELECT t.*, h.sampled, h.by_engine, h.usd_per_s, h.gpus
    FROM replica_time AS t
    JOIN replica_hours AS h ON h.replica = t.replica AND h.epoch_hour = t.step_s // 3600
),
charged AS (
    SELECT replica, step_s, rank, covers, usd, level = 'pool' AS is_for_pool FROM source_charges WHERE replica IS NOT NULL
    UNION ALL
    SELECT replica, step_s, 3, true, usd_per_s * rated_ns / 1e9, false FROM live WHERE usd_per_s IS NOT NULL
),
summed AS (
    SELECT
        replica, step_s, bool_or(covers) AS is_priced,
        coalesce(min(rank) FILTER (WHERE usd <> 0 AND covers), min(rank) FILTER (WHERE usd <> 0)) AS rank,
        sum_usd(usd) AS usd,
        sum_usd(CASE WHEN covers THEN 0 ELSE usd END) AS added_usd,
        sum_usd(CASE WHEN is_for_pool THEN 0 ELSE usd END) AS own_usd, sum_usd(CASE WHEN is_for_pool THEN usd ELSE 0 END) AS pool_usd
    FROM charged
    GROUP BY replica, step_s
)
SELECT
    l.replica, l.step_s, l.pool, l.sampled, l.by_engine,
    CASE WHEN s.is_priced THEN s.usd END AS usd,
    CASE WHEN s.is_priced THEN s.own_usd END AS own_usd,
    CASE WHEN s.is_priced THEN s.pool_usd END AS pool_usd,
    CASE WHEN s.is_priced THEN s.added_usd END AS added_usd,
    CASE WHEN NOT s.is_priced THEN s.usd END AS overhead_usd,
    ['billing', 'allocation', 'rate_card'][s.rank] AS basis,
    l.up_ns / 1e9 * l.gpus AS gpu_s,
    coalesce(ratio(l.busy_ns, l.up_ns), 0) AS busy_ratio,
    (l.up_ns - l.busy_ns) / 1e9 AS idle_s,
    (l.up_ns - l.seen_ns) / 1e9 AS unseen_s,
    CASE WHEN s.is_priced THEN coalesce(ratio(l.pool_error_usd, abs(s.usd)), 0) ELSE 0 END AS error_ratio
FROM live AS l
LEFT JOIN summed AS s USING (replica, step_s)
