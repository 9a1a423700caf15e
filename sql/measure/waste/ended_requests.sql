-- description: How many requests ended in each step, and the bucket of their verdict: those who share overhead (docs/semantics.md#overhead)
-- grain: step_s, workload, model, pool, route, tenant, bucket
-- reads: ledger_options, requests, step_costs
-- unit: `tenant` is NULL unless some overhead is a tenant's
SELECT
    epoch_us(ended_at) * 1000 // step_ns * step_ns // 1000000000 AS step_s,
    workload, coalesce(model, 'unknown') AS model, coalesce(pool, 'unknown') AS pool, coalesce(route, 'unknown') AS route,
    CASE WHEN EXISTS (FROM step_costs WHERE tenant IS NOT NULL) THEN tenant END AS tenant,
    CASE WHEN outcome = 'cancelled' THEN 'abandoned' ELSE verdict END AS bucket,
    count(*) AS requests
FROM requests
CROSS JOIN ledger_options
WHERE verdict <> 'in_flight'
GROUP BY ALL
