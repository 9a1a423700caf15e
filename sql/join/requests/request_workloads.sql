-- description: The workload of whatever requests ask for: the first of the settings that matches (docs/semantics.md#gates-and-verdicts)
-- grain: model, route, pool, tenant, attributes
-- reads: attempt_requests, retried_requests, workload_rules
WITH asked AS (
    SELECT model, route, pool, tenant, attributes FROM attempt_requests WHERE NOT retried
    UNION
    SELECT model, route, pool, tenant, attributes FROM retried_requests
)
SELECT a.*, w.workload
FROM asked AS a
JOIN workload_rules AS w
    ON (w.model IS NULL OR len(list_filter(w.model, lambda g: coalesce(a.model, '') GLOB g)) > 0)
    AND (w.route IS NULL OR len(list_filter(w.route, lambda g: coalesce(a.route, '') GLOB g)) > 0)
    AND (w.pool IS NULL OR len(list_filter(w.pool, lambda g: coalesce(a.pool, '') GLOB g)) > 0)
    AND (w.tenant IS NULL OR len(list_filter(w.tenant, lambda g: coalesce(a.tenant, '') GLOB g)) > 0)
    AND len(list_filter(w.attributes, lambda m: len(list_filter(m.globs,
        lambda g: coalesce(json_extract_string(a.attributes, '$."' || m.name || '"'), '') GLOB g)) = 0)) = 0
QUALIFY row_number() OVER (PARTITION BY a.model, a.route, a.pool, a.tenant, a.attributes ORDER BY w.ordinal) = 1
