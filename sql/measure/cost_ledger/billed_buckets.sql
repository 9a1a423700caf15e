-- description: What the records of each billing source were spent on, hour by hour: the ledger's buckets, and what a better basis displaces (docs/semantics.md#reconciliation)
-- grain: epoch_hour, dialect, basis, bucket
-- reads: cost_ledger, cost_pieces, model_bills, replica_costs, replica_time
-- unit: of several sources that pay for one replica or model, each bears its part of every bucket
WITH recorded AS (
    SELECT level, replica, pool, model, step_s, rank, dialect, basis, is_best, sum_usd(usd) AS usd
    FROM cost_pieces
    GROUP BY ALL
),
pools AS (
    SELECT c.pool, c.step_s, sum(t.seen_ns) AS seen_ns
    FROM replica_time AS t
    JOIN replica_costs AS c USING (replica, step_s)
    GROUP BY c.pool, c.step_s
),
charged AS (
    SELECT r.replica, r.step_s, r.dialect, r.basis, r.usd, t.own_shares[r.rank] AS share
    FROM recorded AS r
    JOIN replica_time AS t USING (replica, step_s)
    WHERE r.level = 'replica'
    UNION ALL
    SELECT t.replica, t.step_s, r.dialect, r.basis, r.usd * t.seen_ns / p.seen_ns, t.pool_shares[r.rank]
    FROM recorded AS r
    JOIN pools AS p ON p.pool = r.pool AND p.step_s = r.step_s AND p.seen_ns > 0
    JOIN replica_costs AS c ON c.pool = r.pool AND c.step_s = r.step_s
    JOIN replica_time AS t ON t.replica = c.replica AND t.step_s = r.step_s
    WHERE r.level = 'pool'
),
replica_buckets AS (
    SELECT replica, epoch_us(window_start) // 1000000 AS step_s, bucket, sum_usd(usd) AS usd, sum_steady(gpu_s) AS gpu_s
    FROM cost_ledger
    WHERE gpu_s IS NOT NULL AND bucket <> 'unattributed' AND replica IS NOT NULL
    GROUP BY ALL
),
model_buckets AS (
    SELECT model, epoch_us(window_start) // 1000000 AS step_s, bucket, sum_usd(usd) AS usd
    FROM cost_ledger
    WHERE gpu_s IS NULL AND attempt_id IS NOT NULL AND basis IN ('billing', 'allocation', 'rate_card')
    GROUP BY ALL
),
spent AS (
    SELECT
        c.step_s, c.dialect, c.basis, coalesce(b.bucket, 'idle') AS bucket,
        c.usd * c.share * CASE
            WHEN r.usd <> 0 THEN coalesce(b.usd / r.usd, 0)
            -- credits and charges that cancel out
            ELSE coalesce(ratio(b.gpu_s, r.gpu_s), 1)
        END AS usd
    FROM charged AS c
    JOIN replica_costs AS r USING (replica, step_s)
    LEFT JOIN replica_buckets AS b USING (replica, step_s)
    UNION ALL
    SELECT step_s, dialect, basis, 'displaced', usd * (1 - share) FROM charged
    UNION ALL
    SELECT r.step_s, r.dialect, r.basis, b.bucket, r.usd * coalesce(b.usd / nullif(m.usd, 0), 0)
    FROM recorded AS r
    JOIN model_bills AS m ON m.model = r.model AND m.step_s = r.step_s
    JOIN model_buckets AS b ON b.model = r.model AND b.step_s = r.step_s
    WHERE r.level = 'model' AND r.is_best
    UNION ALL
    SELECT r.step_s, r.dialect, r.basis, CASE WHEN r.is_best THEN 'unattributed' ELSE 'displaced' END, r.usd
    FROM recorded AS r
    LEFT JOIN model_bills AS m ON m.model = r.model AND m.step_s = r.step_s
    LEFT JOIN pools AS p ON p.pool = r.pool AND p.step_s = r.step_s
    WHERE r.level = 'none'
        OR (r.level = 'model' AND (m.model IS NULL OR NOT r.is_best))
        OR (r.level = 'pool' AND coalesce(p.seen_ns, 0) = 0)
    UNION ALL
    SELECT step_s, dialect, basis, 'overhead', usd FROM recorded WHERE level = 'request'
)
SELECT step_s // 3600 AS epoch_hour, dialect, basis, bucket, sum_usd(usd) AS usd
FROM spent
WHERE usd <> 0
GROUP BY ALL
