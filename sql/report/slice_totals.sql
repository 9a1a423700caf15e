-- description: The slices of a period side by side: by tenant where the settings list it, else by another listed attribute, else by workload and route; within a workload by route
-- grain: period, scope, name
-- reads: period_totals, shown_slices
-- unit: US dollars; price_usd: per accepted result; scope: all, or workload for what is set side by side within one
WITH kinds AS (
    SELECT CASE WHEN bool_or(slice = 'tenant') THEN 'tenant' ELSE coalesce(min(slice) FILTER (WHERE slice LIKE 'attributes.%'), 'workload_route') END AS kind
    FROM shown_slices
),
scopes AS (
    SELECT 'all' AS scope, kind FROM kinds
    UNION ALL
    SELECT 'workload', 'workload_route'
)
SELECT
    t.period, k.scope, s.slice AS divided_by, s.workload, s.model, s.pool, s.route,
    coalesce(s.slice_value, concat_ws(' ', s.workload, nullif(s.route, s.workload))) AS name,
    t.offered, t.accepted, t.ratio, t.ratio_low AS low, t.ratio_high AS high,
    t.cost_usd, t.wasted_ratio * t.cost_usd AS wasted_usd, t.price_usd, t.price_low_usd AS low_usd, t.price_high_usd AS high_usd, t.unpriced
FROM period_totals AS t
JOIN shown_slices AS s USING (choice)
JOIN scopes AS k ON k.kind = s.slice
WHERE t.offered > 0 OR t.cost_usd > 0
-- more than a picture can hold are a table's to show
QUALIFY row_number() OVER (PARTITION BY t.period, k.scope ORDER BY t.cost_usd DESC NULLS LAST, t.offered DESC, name) <= 30
ORDER BY ALL
