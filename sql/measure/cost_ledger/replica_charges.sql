-- description: What cost records and rates charge each replica for a step, and what of it a better basis displaces
-- grain: replica, step_s, rank, dialect, basis
-- reads: cost_pieces, replica_hours, replica_time
-- unit: dialect and basis are those of the records; NULL: the rates of the settings
WITH live AS (
    SELECT t.*, h.pool, h.usd_per_s
    FROM replica_time AS t
    JOIN replica_hours AS h ON h.replica = t.replica AND h.epoch_hour = t.step_s // 3600
),
pools AS (
    SELECT pool, step_s, sum(seen_ns) AS seen_ns FROM live GROUP BY pool, step_s
),
recorded AS (
    SELECT level, replica, pool, step_s, rank, dialect, basis, sum_usd(usd) AS usd
    FROM cost_pieces
    WHERE level IN ('replica', 'pool')
    GROUP BY ALL
),
shared AS (
    SELECT l.replica, l.step_s, c.rank, c.dialect, c.basis, c.usd, l.own_shares[c.rank] AS share
    FROM recorded AS c
    JOIN live AS l USING (replica, step_s)
    WHERE c.level = 'replica'
    UNION ALL
    -- what a pool costs is shared by the time that its replicas were up
    SELECT l.replica, l.step_s, c.rank, c.dialect, c.basis, c.usd * l.seen_ns / p.seen_ns, l.pool_shares[c.rank]
    FROM recorded AS c
    JOIN pools AS p ON p.pool = c.pool AND p.step_s = c.step_s AND p.seen_ns > 0
    JOIN live AS l ON l.pool = c.pool AND l.step_s = c.step_s
    WHERE c.level = 'pool'
)
SELECT replica, step_s, rank, dialect, basis, usd * share AS usd, usd * (1 - share) AS displaced_usd FROM shared
UNION ALL
SELECT replica, step_s, 3, NULL, NULL, usd_per_s * rated_ns / 1e9, 0 FROM live WHERE usd_per_s IS NOT NULL
