-- description: Requests, and costs that belong to no request: the rows that `goodput compare` divides into sides
-- grain: request_key; beside requests bucket, window_start, workload, model, pool, route, tenant and replica of `cost_ledger`
-- reads: cost_ledger, requests
-- kind: view
-- unit: cost_usd of a request is NULL where the price of any of its work is not known; what was refused before any work cost nothing
WITH unpriced AS (
    SELECT DISTINCT request_key FROM cost_ledger WHERE usd IS NULL AND (gpu_s > 0 OR tokens > 0) AND request_key IS NOT NULL
)
SELECT
    q.* REPLACE (
        CASE
            WHEN u.request_key IS NOT NULL THEN NULL
            WHEN q.replica IS NULL AND q.outcome <> 'ok' AND coalesce(q.input_tokens, 0) + coalesce(q.output_tokens, 0) = 0
                THEN coalesce(q.cost_usd, 0)
            ELSE q.cost_usd
        END AS cost_usd)
FROM requests AS q
LEFT JOIN unpriced AS u USING (request_key)
UNION ALL BY NAME
SELECT
    workload, model, pool, route, tenant, replica, window_start AS arrived_at, window_start AS ended_at, bucket, usd AS cost_usd
FROM cost_ledger
WHERE request_key IS NULL AND usd IS NOT NULL
