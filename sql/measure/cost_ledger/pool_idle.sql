-- description: What was paid for a pool while none of its replicas was seen (docs/semantics.md#what-a-replica-costs)
-- grain: pool, step_s, rank
-- reads: cost_pieces, pool_time, replica_hours, replica_time
-- error_usd: what may have been idle too, had all replicas been up that nothing samples
WITH alone AS (
    SELECT
        pool, step_s, unnest([1, 2, 3]) AS rank,
        unnest([
            usd_per_s1,
            CASE WHEN NOT paid1 THEN usd_per_s2 END,
            CASE WHEN NOT (paid1 OR paid2) THEN usd_per_s3 END
        ]) * (to_ns - from_ns) / 1e9 AS usd
    FROM pool_time
    WHERE seen = 0
    UNION ALL
    SELECT c.pool, c.step_s, c.rank, c.usd
    FROM cost_pieces AS c
    WHERE c.level = 'pool' AND c.to_ns = c.from_ns AND (c.pool, c.step_s // 3600) IN (SELECT (pool, epoch_hour) FROM replica_hours)
        AND (c.pool, c.step_s) NOT IN (SELECT (pool, step_s) FROM replica_time WHERE pool IS NOT NULL AND seen_ns > 0)
),
errors AS (
    SELECT pool, step_s, sum_usd(pool_error_usd) AS error_usd FROM replica_time GROUP BY pool, step_s
)
SELECT a.pool, a.step_s, a.rank, sum_usd(a.usd) AS usd, coalesce(any_value(e.error_usd), 0) AS error_usd
FROM alone AS a
LEFT JOIN errors AS e USING (pool, step_s)
WHERE a.usd <> 0
GROUP BY a.pool, a.step_s, a.rank
