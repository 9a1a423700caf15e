-- description: What each replica cost in a window, and which part of that it was busy (docs/semantics.md#money)
-- grain: replica, step_s
-- reads: busy_steps, replica_charges, replica_hours, replica_time
-- unit: usd is NULL where neither a cost record nor a rate gives the replica's cost: it is never guessed
-- A replica counts as one GPU where no rate gives its number.
WITH live AS (
    SELECT t.*, h.pool, h.sampled, h.gpus
    FROM replica_time AS t
    JOIN replica_hours AS h ON h.replica = t.replica AND h.epoch_hour = t.step_s // 3600
),
summed AS (
    SELECT replica, step_s, min(rank) FILTER (WHERE usd <> 0) AS rank, sum_usd(usd) AS usd
    FROM replica_charges
    GROUP BY replica, step_s
)
SELECT
    l.replica, l.step_s, l.pool, l.sampled,
    s.usd,
    ['billing', 'allocation', 'rate_card'][s.rank] AS basis,
    l.up_ns / 1e9 * l.gpus AS gpu_s,
    coalesce(ratio(b.busy_ns, l.up_ns), 0) AS busy_ratio
FROM live AS l
LEFT JOIN summed AS s USING (replica, step_s)
LEFT JOIN busy_steps AS b USING (replica, step_s)
