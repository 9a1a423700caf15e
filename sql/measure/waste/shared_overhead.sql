-- description: Overhead of each window, shared equally by the requests that ended in it and that its records are for (docs/semantics.md#overhead)
-- grain: window_s, start_s, cut, slice_value, workload, model, pool, route, tenant, bucket
-- reads: crowded_windows, ended_requests, grains, kept_values, unloaded_costs
-- Where no such request ended in the window, it is unattributed.
WITH ended AS (
    SELECT
        g.window_s, e.step_s // g.window_s * g.window_s AS start_s,
        e.cut, kept_value(e.slice_value, c.cut IS NOT NULL, k.cut IS NOT NULL) AS slice_value,
        workload, model, pool, route,
        CASE WHEN EXISTS (FROM unloaded_costs WHERE tenant IS NOT NULL) THEN tenant END AS tenant, bucket,
        sum(requests)::BIGINT AS requests
    FROM ended_requests AS e
    CROSS JOIN grains AS g
    LEFT JOIN crowded_windows AS c
        ON c.cut = e.cut AND c.window_s = g.window_s AND c.start_s = e.step_s // g.window_s * g.window_s
    LEFT JOIN kept_values AS k
        ON k.cut = c.cut AND k.window_s = c.window_s AND k.start_s = c.start_s AND k.slice_value = e.slice_value
    GROUP BY ALL
)
SELECT
    h.window_s, h.start_s, h.cut,
    CASE WHEN h.cut > 0 THEN coalesce(e.slice_value, h.slice_value, 'unknown') END AS slice_value,
    coalesce(e.workload, h.workload, 'unknown') AS workload, coalesce(e.model, h.model, 'unknown') AS model,
    coalesce(e.pool, h.pool, 'unknown') AS pool, coalesce(e.route, h.route, 'unknown') AS route,
    coalesce(e.bucket, 'unattributed') AS bucket,
    coalesce(h.usd * e.requests / sum(e.requests) OVER (
        PARTITION BY h.window_s, h.start_s, h.cut, h.slice_value, h.workload, h.model, h.pool, h.route, h.tenant), h.usd::DOUBLE) AS usd
FROM unloaded_costs AS h
LEFT JOIN ended AS e
    ON e.window_s = h.window_s AND e.start_s = h.start_s AND e.cut = h.cut
    AND (h.workload IS NULL OR h.workload = e.workload) AND (h.model IS NULL OR h.model = e.model)
    AND (h.pool IS NULL OR h.pool = e.pool) AND (h.route IS NULL OR h.route = e.route)
    AND (h.tenant IS NULL OR h.tenant = e.tenant)
WHERE h.bucket = 'overhead'
