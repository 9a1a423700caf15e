-- description: What the records of each billing source were spent on, hour by hour: the ledger's buckets, and what a better basis displaces (docs/semantics.md#reconciliation)
-- grain: epoch_hour, dialect, basis, bucket
-- reads: cost_ledger, model_bills, model_charges, named_costs, recorded_charges, replica_costs, source_charges
-- unit: of several sources that pay for one replica, pool or model, each bears its part of every bucket
WITH replica_buckets AS (
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
        c.step_s, c.dialect, c.basis,
        CASE WHEN r.usd IS NULL THEN 'overhead' ELSE coalesce(b.bucket, 'idle') END AS bucket,
        c.usd * CASE
            WHEN r.usd <> 0 THEN coalesce(b.usd / r.usd, 0)
            -- credits and charges that cancel out
            ELSE coalesce(ratio(b.gpu_s, r.gpu_s), 1)
        END AS usd
    FROM source_charges AS c
    JOIN replica_costs AS r USING (replica, step_s)
    LEFT JOIN replica_buckets AS b ON r.usd IS NOT NULL AND b.replica = c.replica AND b.step_s = c.step_s
    UNION ALL
    SELECT step_s, dialect, basis, 'idle', usd FROM source_charges WHERE replica IS NULL
    UNION ALL
    SELECT step_s, dialect, basis, 'displaced', displaced_usd FROM source_charges
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
