-- description: What the records of each billing source were spent on, hour by hour: the ledger's buckets, and what a better basis displaces (docs/semantics.md#reconciliation)
-- grain: epoch_hour, dialect, basis, bucket
-- reads: cost_ledger, model_bills, model_charges, named_costs, pool_idle, recorded_charges, replica_costs, replica_time
-- unit: of several sources that pay for one replica, pool or model, each bears its part of every bucket
WITH pool_paid AS (
    SELECT pool, step_s, rank, sum_usd(usd) AS usd
    FROM recorded_charges
    WHERE level = 'pool' AND is_pool_known AND lasts
    GROUP BY ALL
),
pool_seen AS (
    SELECT pool, step_s, replica, seen_ns / sum(seen_ns) OVER (PARTITION BY pool, step_s) AS share
    FROM replica_time
    WHERE pool IS NOT NULL AND seen_ns > 0
),
-- by replica; NULL: what was paid for the pool while none of its replicas was seen
pool_spent AS (
    SELECT pool, step_s, replica, unnest([1, 2, 3]) AS rank, unnest(pool_usd) AS usd FROM replica_time WHERE pool IS NOT NULL
    UNION ALL
    SELECT pool, step_s, NULL, rank, usd FROM pool_idle
    UNION ALL
    -- charges of no duration are not spread over time
    SELECT pool, step_s, NULL, rank, -usd
    FROM recorded_charges
    WHERE level = 'pool' AND is_pool_known AND NOT lasts AND (pool, step_s) NOT IN (SELECT (pool, step_s) FROM pool_seen)
),
pool_parts AS (
    SELECT s.pool, s.step_s, s.replica, s.rank, sum_usd(s.usd) / nullif(any_value(p.usd), 0) AS part
    FROM pool_spent AS s
    JOIN pool_paid AS p USING (pool, step_s, rank)
    WHERE s.usd IS NOT NULL
    GROUP BY ALL
),
charged AS (
    SELECT r.replica, r.step_s, r.dialect, r.basis, r.usd * t.own_shares[r.rank] AS usd
    FROM recorded_charges AS r
    JOIN replica_time AS t USING (replica, step_s)
    WHERE r.level = 'replica'
    UNION ALL
    SELECT p.replica, r.step_s, r.dialect, r.basis, r.usd * p.part
    FROM recorded_charges AS r
    JOIN pool_parts AS p ON p.pool = r.pool AND p.step_s = r.step_s AND p.rank = r.rank AND p.replica IS NOT NULL
    WHERE r.level = 'pool' AND r.lasts
    UNION ALL
    SELECT s.replica, r.step_s, r.dialect, r.basis, r.usd * s.share
    FROM recorded_charges AS r
    JOIN pool_seen AS s ON s.pool = r.pool AND s.step_s = r.step_s
    WHERE r.level = 'pool' AND r.is_pool_known AND NOT r.lasts
),
replica_buckets AS (
    SELECT replica, epoch_us(window_start) // 1000000 AS step_s, bucket, sum_usd(usd) AS usd, sum_steady(gpu_s) AS gpu_s
    FROM cost_ledger
    WHERE gpu_s IS NOT NULL AND bucket <> 'unattributed' AND replica IS NOT NULL
    GROUP BY ALL
),
model_buckets AS (
    SELECT model, step_s, bucket, sum_usd(usd) AS usd FROM model_charges GROUP BY ALL
),
spent AS (
    SELECT
        c.step_s, c.dialect, c.basis, coalesce(b.bucket, 'idle') AS bucket,
        c.usd * CASE
            WHEN r.usd <> 0 THEN coalesce(b.usd / r.usd, 0)
            -- credits and charges that cancel out
            ELSE coalesce(ratio(b.gpu_s, r.gpu_s), 1)
        END AS usd
    FROM charged AS c
    JOIN replica_costs AS r USING (replica, step_s)
    LEFT JOIN replica_buckets AS b USING (replica, step_s)
    UNION ALL
    SELECT r.step_s, r.dialect, r.basis, 'displaced', r.usd * (1 - t.own_shares[r.rank])
    FROM recorded_charges AS r
    JOIN replica_time AS t USING (replica, step_s)
    WHERE r.level = 'replica'
    UNION ALL
    SELECT r.step_s, r.dialect, r.basis, 'idle', r.usd * p.part
    FROM recorded_charges AS r
    JOIN pool_parts AS p ON p.pool = r.pool AND p.step_s = r.step_s AND p.rank = r.rank AND p.replica IS NULL
    WHERE r.level = 'pool' AND r.lasts
    UNION ALL
    SELECT step_s, dialect, basis, 'idle', usd
    FROM recorded_charges
    WHERE level = 'pool' AND is_pool_known AND NOT lasts AND (pool, step_s) NOT IN (SELECT (pool, step_s) FROM pool_seen)
    UNION ALL
    -- nothing displaces a bill
    SELECT r.step_s, r.dialect, r.basis, 'displaced', r.usd * (1 - coalesce(p.part, 0))
    FROM recorded_charges AS r
    LEFT JOIN (SELECT pool, step_s, rank, sum(part) AS part FROM pool_parts GROUP BY ALL) AS p
        ON p.pool = r.pool AND p.step_s = r.step_s AND p.rank = r.rank
    WHERE r.level = 'pool' AND r.is_pool_known AND r.lasts AND r.rank > 1
    UNION ALL
    SELECT r.step_s, r.dialect, r.basis, b.bucket, r.usd * b.usd / nullif(m.usd, 0)
    FROM recorded_charges AS r
    JOIN model_bills AS m ON m.model = r.model AND m.step_s = r.step_s
    JOIN model_buckets AS b ON b.model = r.model AND b.step_s = r.step_s
    WHERE r.level = 'model' AND r.is_best
    UNION ALL
    SELECT r.step_s, r.dialect, r.basis, CASE WHEN r.is_best THEN 'unattributed' ELSE 'displaced' END, r.usd
    FROM recorded_charges AS r
    WHERE r.level = 'none' OR (r.level = 'pool' AND NOT r.is_pool_known)
    UNION ALL
    SELECT r.step_s, r.dialect, r.basis, CASE WHEN r.is_best THEN 'overhead' ELSE 'displaced' END, r.usd
    FROM recorded_charges AS r
    LEFT JOIN model_bills AS m ON m.model = r.model AND m.step_s = r.step_s
    WHERE r.level = 'model' AND (m.model IS NULL OR NOT r.is_best)
    UNION ALL
    SELECT step_s, dialect, basis, 'overhead', usd FROM recorded_charges WHERE level = 'request' AND NOT is_named
    UNION ALL
    SELECT step_s, dialect, basis, bucket, usd FROM named_costs
)
SELECT step_s // 3600 AS epoch_hour, dialect, basis, bucket, sum_usd(usd) AS usd
FROM spent
WHERE usd <> 0
GROUP BY ALL
