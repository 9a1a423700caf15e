-- description: What is paid for a pool as such from moment to moment, and how many of its replicas were seen then (docs/semantics.md#what-a-replica-costs)
-- grain: pool, step_s, from_ns
-- reads: cost_pieces, ledger_options, replica_hours, replica_life
-- unit: paid1: whether a record of that basis covers the time; usd_per_s1: what all of that basis pay, spent evenly over their periods;
-- possible: replicas that may have been up, as nothing samples some of them
-- Charges of no duration are not here, nor are pools that telemetry does not know.
WITH billed AS (
    SELECT pool, rank, step_s, from_ns, to_ns, covers, (usd * 1e9 / (to_ns - from_ns))::DECIMAL(38, 18) AS usd_per_s
    FROM cost_pieces
    WHERE level = 'pool' AND is_pool_known AND to_ns > from_ns
),
billed_steps AS (
    SELECT DISTINCT pool, step_s, step_s * 1000000000 AS begin_ns, step_s * 1000000000 + step_ns AS end_ns
    FROM billed
    CROSS JOIN ledger_options
),
seen AS (
    SELECT h.pool, s.step_s, h.sampled, greatest(l.from_ns, s.begin_ns) AS from_ns, least(l.until_ns, s.end_ns) AS to_ns
    FROM billed_steps AS s
    JOIN replica_hours AS h ON h.pool = s.pool AND h.epoch_hour = s.step_s // 3600
    JOIN replica_life AS l ON l.replica = h.replica AND l.state = 'up' AND l.from_ns < s.end_ns AND l.until_ns > s.begin_ns
),
changes AS (
    SELECT pool, step_s, unnest([from_ns, to_ns]) AS ns, unnest([1, -1]) AS change, 0 AS rank, sampled, false AS covers, 0 AS usd_per_s FROM seen
    UNION ALL
    SELECT pool, step_s, unnest([from_ns, to_ns]), unnest([1, -1]), rank, NULL, covers, usd_per_s FROM billed
),
moments AS (
    SELECT
        pool, step_s, ns,
        sum(change) FILTER (WHERE rank = 0) AS seen,
        sum(change) FILTER (WHERE sampled) AS sampled,
        sum(change) FILTER (WHERE rank = 1 AND covers) AS paid1, sum(change * usd_per_s) FILTER (WHERE rank = 1) AS usd_per_s1,
        sum(change) FILTER (WHERE rank = 2 AND covers) AS paid2, sum(change * usd_per_s) FILTER (WHERE rank = 2) AS usd_per_s2,
        sum(change) FILTER (WHERE rank = 3 AND covers) AS paid3, sum(change * usd_per_s) FILTER (WHERE rank = 3) AS usd_per_s3
    FROM changes
    GROUP BY pool, step_s, ns
),
unsampled AS (
    SELECT pool, epoch_hour, count(*) AS replicas FROM replica_hours WHERE NOT sampled GROUP BY pool, epoch_hour
)
SELECT
    m.pool, m.step_s, ns AS from_ns, coalesce(lead(ns) OVER onward, ns) AS to_ns,
    coalesce(sum(seen) OVER onward, 0)::BIGINT AS seen,
    (coalesce(sum(sampled) OVER onward, 0) + coalesce(u.replicas, 0))::BIGINT AS possible,
    coalesce(sum(paid1) OVER onward, 0) > 0 AS paid1, coalesce(sum(usd_per_s1) OVER onward, 0) AS usd_per_s1,
    coalesce(sum(paid2) OVER onward, 0) > 0 AS paid2, coalesce(sum(usd_per_s2) OVER onward, 0) AS usd_per_s2,
    coalesce(sum(paid3) OVER onward, 0) > 0 AS paid3, coalesce(sum(usd_per_s3) OVER onward, 0) AS usd_per_s3
FROM moments AS m
LEFT JOIN unsampled AS u ON u.pool = m.pool AND u.epoch_hour = m.step_s // 3600
WINDOW onward AS (PARTITION BY m.pool, m.step_s ORDER BY ns)
