-- description: What was paid for a pool while none of its replicas was seen (docs/semantics.md#what-a-replica-costs)
-- grain: pool, step_s, rank
-- reads: replica_time, source_charges
-- error_usd: what may have been idle too, had all replicas been up that nothing samples
WITH errors AS (
    SELECT pool, step_s, sum_usd(pool_error_usd) AS error_usd FROM replica_time GROUP BY pool, step_s
)
SELECT c.payer AS pool, c.step_s, c.rank, sum_usd(c.usd) AS usd, coalesce(any_value(e.error_usd), 0) AS error_usd
FROM source_charges AS c
LEFT JOIN errors AS e ON e.pool = c.payer AND e.step_s = c.step_s
WHERE c.replica IS NULL AND c.usd <> 0
GROUP BY c.payer, c.step_s, c.rank
