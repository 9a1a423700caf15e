-- description: Every line of costs in US dollars, with what it is for, and why it is in no number where it is in none
-- grain: source_id, line, position
-- reads: billed_lines, cost_lines, cost_rules, exchange_rates, listed_lines, overwritten_lines
WITH known AS (
    SELECT * FROM billed_lines
    UNION ALL BY NAME
    SELECT * FROM listed_lines
    UNION ALL BY NAME
    SELECT l.*, 'superseded' AS reason, o.superseded_by_source
    FROM cost_lines AS l
    JOIN overwritten_lines AS o USING (source_id, line, position)
),
tagged AS (
    SELECT
        k.*,
        CASE WHEN json_valid(k.tags) AND json_type(k.tags) = 'OBJECT'
            THEN json_transform(k.tags, '"MAP(VARCHAR, VARCHAR)"') END AS tag,
        CASE WHEN coalesce(upper(k.currency), 'USD') = 'USD' THEN 1.0 ELSE e.usd END AS currency_usd
    FROM known AS k
    LEFT JOIN exchange_rates AS e ON e.currency = upper(k.currency)
)
SELECT
    t.* EXCLUDE (tag) REPLACE (
        tagged_as(t.pool, t.tag, c.pool_tags) AS pool,
        tagged_as(t.replica, t.tag, c.replica_tags) AS replica,
        tagged_as(t.model, t.tag, c.model_tags) AS model,
        tagged_as(t.workload, t.tag, c.workload_tags) AS workload,
        tagged_as(t.route, t.tag, c.route_tags) AS route,
        tagged_as(t.tenant, t.tag, c.tenant_tags) AS tenant,
        upper(t.currency) AS currency,
        CASE
            WHEN t.reason IS NOT NULL THEN t.reason
            WHEN t.basis = 'billing' AND (
                NOT matches_any(t.service, c.services) OR NOT matches_any(t.sub_account, c.sub_accounts)
            ) THEN 'not_chosen'
            WHEN t.currency_usd IS NULL THEN 'no_exchange_rate'
            WHEN abs(t.amount_usd * t.currency_usd) > 1e9 THEN 'amount_not_believed'
        END AS reason
    )
FROM tagged AS t
CROSS JOIN cost_rules AS c
