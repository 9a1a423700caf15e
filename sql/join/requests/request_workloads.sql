-- description: The workload of whatever requests ask for: the first of the settings that matches (docs/semantics.md#gates-and-verdicts)
-- grain: model, route, pool, tenant, attributes
-- reads: attempt_requests, retried_requests, workload_rules
WITH asked AS (
    SELECT model, route, pool, tenant, attributes FROM attempt_requests WHERE NOT retried
    UNION
    SELECT model, route, pool, tenant, attributes FROM retried_requests
),
rules AS (
    SELECT
        workload, ordinal, like_patterns(model) AS model, like_patterns(route) AS route, like_patterns(pool) AS pool,
        like_patterns(tenant) AS tenant,
        list_transform(attributes, lambda m: {'path': '$."' || m.name || '"', 'patterns': like_patterns(m.globs)}) AS attributes
    FROM workload_rules
)
SELECT a.*, w.workload
FROM asked AS a
JOIN rules AS w
    ON is_like_any(a.model, w.model)
    AND is_like_any(a.route, w.route)
    AND is_like_any(a.pool, w.pool)
    AND is_like_any(a.tenant, w.tenant)
    AND len(list_filter(w.attributes, lambda m: NOT is_like_any(json_extract_string(a.attributes, m.path), m.patterns))) = 0
QUALIFY row_number() OVER (PARTITION BY a.model, a.route, a.pool, a.tenant, a.attributes ORDER BY w.ordinal) = 1
