-- description: The slices of a period side by side: by tenant where the settings list it, else by another listed attribute, else by workload and route; within a workload by what the settings list within workloads, else by route
-- grain: period, scope, workload, route, name
-- reads: period_totals, shown_slices
-- unit: US dollars; price_usd: per accepted result; scope: all, or workload for what is set side by side within one, or route for one of its routes
-- unit: within: the workload of a tenant or attribute within one; in scope all such rows say what those of all workloads are made of
WITH listed AS (
    SELECT
        coalesce(max(slice) FILTER (WHERE slice = 'tenant'), min(slice) FILTER (WHERE slice LIKE 'attributes.%')) AS by_value,
        bool_or(slice = 'workload_tenant') AS has_tenants,
        min(slice) FILTER (WHERE slice LIKE 'workload_attributes.%') AS by_attribute
    FROM shown_slices
),
kinds AS (
    SELECT
        coalesce(by_value, 'workload_route') AS kind,
        CASE
            WHEN 'workload_' || by_value IN (SELECT slice FROM shown_slices) THEN 'workload_' || by_value
            WHEN has_tenants THEN 'workload_tenant'
            ELSE coalesce(by_attribute, 'workload_route')
        END AS kind_within
    FROM listed
),
scopes AS (
    SELECT 'all' AS scope, kind FROM kinds
    UNION ALL
    SELECT 'all', kind_within FROM kinds WHERE kind_within = 'workload_' || kind
    UNION ALL
    SELECT 'workload', kind_within FROM kinds
    UNION ALL
    SELECT 'route', 'workload_route'
)
SELECT
    t.period, k.scope, CASE WHEN s.slice_value IS NULL THEN s.slice ELSE regexp_replace(s.slice, '^workload_', '') END AS divided_by,
    CASE WHEN s.slice_value IS NOT NULL THEN s.workload END AS within,
    s.workload, s.model, s.pool, s.route,
    coalesce(s.slice_value, concat_ws(' ', s.workload, nullif(s.route, s.workload))) AS name,
    t.offered, t.accepted, t.ratio, t.ratio_low AS low, t.ratio_high AS high,
    t.cost_usd, t.wasted_ratio * t.cost_usd AS wasted_usd, t.price_usd, t.price_low_usd AS low_usd, t.price_high_usd AS high_usd, t.unpriced
FROM period_totals AS t
JOIN shown_slices AS s USING (choice)
JOIN scopes AS k ON k.kind = s.slice
WHERE t.offered > 0 OR t.cost_usd > 0
-- more than a picture can hold are a table's to show
QUALIFY row_number() OVER (PARTITION BY t.period, k.scope, within ORDER BY t.cost_usd DESC NULLS LAST, t.offered DESC, name) <= 30
ORDER BY t.period, k.scope, within NULLS FIRST, s.workload, s.route, name
