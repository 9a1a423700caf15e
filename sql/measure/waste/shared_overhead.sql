-- description: Overhead of each window, shared equally by the requests that ended in it and that its records are for (docs/semantics.md#overhead)
-- grain: window_s, start_s, workload, model, pool, route, tenant, bucket
-- reads: ended_requests, grains, unloaded_costs
-- Where no such request ended in the window, it is unattributed.
WITH ended AS (
    SELECT
        window_s, step_s // window_s * window_s AS start_s, workload, model, pool, route, tenant, bucket,
        sum(requests)::BIGINT AS requests
    FROM ended_requests
    CROSS JOIN grains
    GROUP BY ALL
)
SELECT
    h.window_s, h.start_s,
    coalesce(e.workload, h.workload, 'unknown') AS workload, coalesce(e.model, h.model, 'unknown') AS model,
    coalesce(e.pool, h.pool, 'unknown') AS pool, coalesce(e.route, h.route, 'unknown') AS route,
    coalesce(e.bucket, 'unattributed') AS bucket,
    coalesce(h.usd * e.requests / sum(e.requests) OVER (
        PARTITION BY h.window_s, h.start_s, h.workload, h.model, h.pool, h.route, h.tenant), h.usd::DOUBLE) AS usd
FROM unloaded_costs AS h
LEFT JOIN ended AS e
    ON e.window_s = h.window_s AND e.start_s = h.start_s
    AND (h.workload IS NULL OR h.workload = e.workload) AND (h.model IS NULL OR h.model = e.model)
    AND (h.pool IS NULL OR h.pool = e.pool) AND (h.route IS NULL OR h.route = e.route)
    AND (h.tenant IS NULL OR h.tenant = e.tenant)
WHERE h.bucket = 'overhead'
