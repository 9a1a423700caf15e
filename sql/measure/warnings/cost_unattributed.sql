-- description: Money of the last measured days that nobody carries, where it is 1 % or more
-- grain: one row at most
-- reads: recent_windows, waste
-- unit: amount_usd: what is unattributed
WITH days AS (
    SELECT w.window_start, sum_usd(w.usd) AS usd, coalesce(sum_usd(CASE WHEN w.bucket = 'unattributed' THEN w.usd END), 0) AS unattributed_usd
    FROM waste AS w
    JOIN recent_windows AS g USING (window_s, window_start)
    WHERE w.slice = 'overall' AND g.slice = 'overall'
    GROUP BY w.window_start
)
SELECT
    'medium' AS severity,
    'costs' AS subject,
    format('Of the {} measured day{} from {} on ${:,.2f} of ${:,.2f} are unattributed: bills name a replica, model, request, session or tenant that telemetry does not '
        || 'show, a pool of which it shows no replica (one that names the model is shared by work), or hours without telemetry. No workload carries them. '
        || '`goodput reconcile --by-day` shows when, bucket `unattributed` or `overhead` of cost_ledger what they name',
        count(DISTINCT window_start::DATE), CASE WHEN count(DISTINCT window_start::DATE) = 1 THEN '' ELSE 's' END, strftime(min(window_start), '%Y-%m-%d'), sum_usd(unattributed_usd), sum_usd(usd)) AS message,
    NULL AS affected,
    sum_usd(unattributed_usd) AS amount_usd,
    min(window_start) FILTER (WHERE unattributed_usd <> 0) AS first_seen_at,
    max(window_start) FILTER (WHERE unattributed_usd <> 0) AS last_seen_at
FROM days
HAVING abs(sum_usd(unattributed_usd)) >= 0.01 * greatest(1, sum_usd(abs(usd)))
