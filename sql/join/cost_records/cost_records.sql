-- description: Cost of a resource over a period (docs/semantics.md#money): every line that is valid now, each once
-- grain: dialect, cost_id
-- reads: judged_cost_lines
SELECT
    cost_id, basis,
    pool, replica, model, workload, route, tenant, request_key, session_id,
    at_utc(period_start_ns) AS period_start,
    at_utc(period_end_ns) AS period_end,
    amount_usd * currency_usd AS amount_usd,
    billed_usd * currency_usd AS billed_usd,
    currency, currency_usd,
    billing_account, sub_account, charge_category, charge_class, commitment_status, service, resource_id,
    gpu_s, tokens, placeholder_rate,
    dialect,
    source_id AS source,
    line
FROM judged_cost_lines
WHERE reason IS NULL
