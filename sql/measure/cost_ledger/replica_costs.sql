-- description: What each replica cost in a window, and which part of that it was busy (docs/semantics.md#money)
-- grain: replica, step_s
-- reads: busy_steps, cost_pieces, replica_hours, replica_time
-- unit: usd is NULL where neither a cost record nor a rate gives the replica's cost: it is never guessed
-- A replica counts as one GPU where no rate gives its number.
WITH live AS (
    SELECT t.*, h.pool, h.sampled, h.usd_per_s, h.gpus
    FROM replica_time AS t
    JOIN replica_hours AS h ON h.replica = t.replica AND h.epoch_hour = t.step_s // 3600
),
pools AS (
    SELECT pool, step_s, sum(seen_ns) AS seen_ns FROM live GROUP BY pool, step_s
),
own AS (
    SELECT replica, step_s, rank, sum_usd(usd) AS usd
    FROM cost_pieces
    WHERE level = 'replica'
    GROUP BY replica, step_s, rank
),
pooled AS (
    SELECT pool, step_s, rank, sum_usd(usd) AS usd
    FROM cost_pieces
    WHERE level = 'pool'
    GROUP BY pool, step_s, rank
),
charged AS (
    SELECT l.replica, l.step_s, o.rank, o.usd * l.own_shares[o.rank] AS usd
    FROM own AS o
    JOIN live AS l USING (replica, step_s)
    UNION ALL
    -- what a pool costs is shared by the time that its replicas were up
    SELECT l.replica, l.step_s, c.rank, c.usd * l.pool_shares[c.rank] * l.seen_ns / p.seen_ns
    FROM pooled AS c
    JOIN pools AS p ON p.pool = c.pool AND p.step_s = c.step_s AND p.seen_ns > 0
    JOIN live AS l ON l.pool = c.pool AND l.step_s = c.step_s
    UNION ALL
    SELECT replica, step_s, 3, usd_per_s * rated_ns / 1e9 FROM live WHERE usd_per_s IS NOT NULL
),
summed AS (
    SELECT replica, step_s, min(rank) FILTER (WHERE usd <> 0) AS rank, sum_usd(usd) AS usd
    FROM charged
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
