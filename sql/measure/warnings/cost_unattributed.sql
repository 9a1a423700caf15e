-- description: Billing sources of the last measured days of which 1 % or more is spent on nothing that telemetry knows
-- grain: subject
-- reads: recent_windows, reconciliation
-- unit: amount_usd: what is unattributed
WITH days AS (
    SELECT DISTINCT date_trunc('day', window_start AT TIME ZONE 'UTC') AT TIME ZONE 'UTC' AS day_start FROM recent_windows
)
SELECT
    'medium' AS severity,
    dialect AS subject,
    format('${:,.2f} of the ${:,.2f} that {} bills are unattributed: they name a replica, model, request or session that telemetry does '
        || 'not show, a pool of which it shows no replica, or hours without telemetry. No workload carries them. `goodput reconcile --by-day` shows when, bucket '
        || '`unattributed` of cost_ledger what they name', sum_usd(unattributed_usd), sum_usd(allocated_usd), dialect) AS message,
    NULL AS affected,
    sum_usd(unattributed_usd) AS amount_usd,
    min(day_start) FILTER (WHERE unattributed_usd <> 0) AS first_seen_at,
    max(day_start) FILTER (WHERE unattributed_usd <> 0) AS last_seen_at
FROM reconciliation
JOIN days USING (day_start)
GROUP BY dialect
HAVING abs(sum_usd(unattributed_usd)) >= 0.01 * greatest(1, sum_usd(abs(allocated_usd)))
