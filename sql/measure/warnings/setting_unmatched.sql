-- description: What the settings name in [work], [served_models] and [replicas] and nothing of the newest day of telemetry has, and in [costs] and no bill has
-- grain: subject
-- reads: attempts, cost_records, cost_rules, declared_models, declared_names, replica_names, unused_cost_lines, work_weights
WITH served AS (
    SELECT DISTINCT model, pool, replica FROM attempts
),
called AS (
    SELECT replica AS name FROM served
    UNION
    SELECT name FROM replica_names
    UNION
    SELECT replica FROM replica_names
),
-- the names that are looked for, and those that there are to look among
wanted AS (
    SELECT
        'work, model ' || array_to_string(w.model, ' or ') AS subject, 'models' AS kind,
        EXISTS (FROM served AS s WHERE matches_any(s.model, w.model)) AS is_found
    FROM work_weights AS w
    WHERE w.model IS NOT NULL
    UNION
    SELECT
        'served_models, ' || concat_ws(' and ', 'pool ' || array_to_string(m.pool, ' or '), 'replica ' || array_to_string(m.replica, ' or ')),
        CASE WHEN m.replica IS NULL THEN 'pools' ELSE 'replicas' END,
        EXISTS (
            FROM served AS s
            WHERE matches_any(s.pool, m.pool) AND matches_any(s.replica, m.replica)
        )
    FROM declared_models AS m
    WHERE coalesce(m.pool, m.replica) IS NOT NULL
    UNION
    SELECT 'replicas, ' || replica, 'replicas', bool_or(c.name IS NOT NULL)
    FROM (SELECT replica, name FROM declared_names UNION SELECT replica, replica FROM declared_names) AS d
    LEFT JOIN called AS c USING (name)
    GROUP BY replica
),
seen AS (
    SELECT 'models' AS kind, list_sort(list(DISTINCT model)) AS names FROM served WHERE model IS NOT NULL
    UNION ALL
    SELECT 'pools', list_sort(list(DISTINCT pool)) FROM served WHERE pool IS NOT NULL
    UNION ALL
    SELECT 'replicas', list_sort(list(DISTINCT name)) FROM called WHERE name IS NOT NULL
),
billed AS (
    SELECT service, sub_account, true AS counts, amount_usd AS amount FROM cost_records WHERE basis = 'billing'
    UNION ALL
    SELECT service, sub_account, false, CASE WHEN reason = 'not_chosen' THEN amount END FROM unused_cost_lines WHERE basis = 'billing'
),
choices AS (
    SELECT 'services' AS setting, unnest(services) AS glob, (SELECT list_sort(list(DISTINCT service)) FROM billed) AS names FROM cost_rules
    UNION ALL
    SELECT 'sub_accounts', unnest(sub_accounts), (SELECT list_sort(list(DISTINCT sub_account)) FROM billed) FROM cost_rules
),
-- of these there is no tag by default
tags AS (
    SELECT 'workload' AS scope, workload_tags AS tags, EXISTS (FROM cost_records WHERE workload IS NOT NULL) AS is_found FROM cost_rules
    UNION ALL
    SELECT 'route', route_tags, EXISTS (FROM cost_records WHERE route IS NOT NULL) FROM cost_rules
    UNION ALL
    SELECT 'tenant', tenant_tags, EXISTS (FROM cost_records WHERE tenant IS NOT NULL) FROM cost_rules
)
SELECT
    'medium' AS severity,
    w.subject,
    format('The settings have [{}], and telemetry of the newest day has nothing of that name. {} seen: {}',
        w.subject, upper(s.kind[1]) || s.kind[2:], coalesce(nullif(array_to_string(s.names[:5], ', '), ''), 'none')) AS message
FROM wanted AS w
JOIN seen AS s USING (kind)
WHERE NOT w.is_found AND EXISTS (FROM served)
UNION ALL BY NAME
SELECT
    CASE WHEN bool_or(b.counts) THEN 'medium' ELSE 'high' END AS severity,
    format('costs, {} {}', c.setting, c.glob) AS subject,
    format('[costs] {} has {}, and no bill has anything of that name, as it is spelt there. {} line(s) with {:,.2f} are left out. {} seen: {}',
        c.setting, c.glob, count(*) FILTER (WHERE NOT b.counts AND b.amount IS NOT NULL),
        coalesce(sum(b.amount::DECIMAL(38, 12)) FILTER (WHERE NOT b.counts), 0)::DOUBLE,
        CASE c.setting WHEN 'services' THEN 'Services' ELSE 'Sub accounts' END,
        coalesce(nullif(array_to_string(c.names[:5], ', '), ''), 'none')) AS message
FROM choices AS c
CROSS JOIN billed AS b
WHERE len(list_filter(coalesce(c.names, []), lambda name: matches_any(name, [c.glob]))) = 0
GROUP BY c.setting, c.glob, c.names
UNION ALL BY NAME
SELECT
    'medium' AS severity,
    format('costs, {}_tags', scope) AS subject,
    format('[costs] {}_tags has {}, and no line of a bill that counts has such a tag, as it is spelt there: nothing is charged to a {} by its bill',
        scope, array_to_string(tags, ', '), scope) AS message
FROM tags
WHERE len(tags) > 0 AND NOT is_found AND EXISTS (FROM cost_records WHERE basis = 'billing')
