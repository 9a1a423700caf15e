-- description: Cost of a resource over a period (docs/semantics.md#money): every line that is valid now, each once
-- grain: cost_id
-- reads: allocated_lines, billed_lines, cost_lines, cost_rules, source_exports
WITH other_lines AS (
    SELECT l.*
    FROM cost_lines AS l
    JOIN source_exports AS x USING (source_id)
    WHERE l.basis NOT IN ('billing', 'allocation')
    QUALIFY row_number() OVER (PARTITION BY l.cost_id ORDER BY x.export_date DESC, l.record_id, l.source_id) = 1
),
standing AS (
    SELECT * REPLACE (source_id || ':' || line || ':' || position AS cost_id) FROM billed_lines
    UNION ALL BY NAME
    SELECT * FROM allocated_lines
    UNION ALL BY NAME
    SELECT * FROM other_lines
),
tagged AS (
    SELECT
        s.*,
        CASE WHEN json_valid(s.tags) AND json_type(s.tags) = 'OBJECT'
            THEN json_transform(s.tags, '"MAP(VARCHAR, VARCHAR)"') END AS tag
    FROM standing AS s
)
SELECT
    t.cost_id,
    t.basis,
    coalesce(t.pool, list_filter(list_transform(c.pool_tags, lambda k: t.tag[k]), lambda v: v <> '')[1]) AS pool,
    coalesce(t.replica, list_filter(list_transform(c.replica_tags, lambda k: t.tag[k]), lambda v: v <> '')[1]) AS replica,
    coalesce(t.model, list_filter(list_transform(c.model_tags, lambda k: t.tag[k]), lambda v: v <> '')[1]) AS model,
    at_utc(t.period_start_ns) AS period_start,
    at_utc(t.period_end_ns) AS period_end,
    t.amount_usd,
    t.billed_usd,
    t.billing_account,
    t.sub_account,
    t.charge_category,
    t.charge_class,
    t.commitment_status,
    t.service,
    t.resource_id,
    t.gpu_s,
    t.tokens,
    t.placeholder_rate,
    t.dialect,
    t.source_id AS source,
    t.line
FROM tagged AS t
CROSS JOIN cost_rules AS c
WHERE t.basis <> 'billing' OR (
    (c.services IS NULL OR len(list_filter(c.services, lambda g: coalesce(t.service, '') GLOB g)) > 0)
    AND (c.sub_accounts IS NULL OR len(list_filter(c.sub_accounts, lambda g: coalesce(t.sub_account, '') GLOB g)) > 0)
)
