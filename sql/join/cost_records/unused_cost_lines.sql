-- description: Lines of costs that are in no number, each with the reason and the line that counts instead (docs/semantics.md#bills)
-- grain: source, line, position
-- reads: cost_copies, judged_cost_lines
-- a copy of a line that counts, or of one that is listed here, is a duplicate of it; why the last export's does not count comes first
SELECT
    source_id AS source, line, position,
    cost_id, dialect, basis,
    at_utc(period_start_ns) AS period_start,
    at_utc(period_end_ns) AS period_end,
    amount_usd AS amount, coalesce(currency, 'USD') AS currency,
    service, resource_id, sub_account, billing_account, charge_category,
    reason, superseded_by_source, superseded_by_line
FROM judged_cost_lines
ANTI JOIN cost_copies USING (source_id)
QUALIFY reason IS NOT NULL
    AND row_number() OVER (PARTITION BY record_id ORDER BY reason IS NOT NULL, reason = 'superseded', source_id, line, position) = 1
