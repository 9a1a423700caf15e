-- description: Files of costs that were overwritten by less: what the newer content left out at either end still counts
-- grain: subject
-- reads: cost_records, source_ledger, unused_cost_lines
-- A newer file that reaches further, such as the last 30 days, leaves behind what it no longer holds, and is meant to.
WITH overwritten AS (
    SELECT DISTINCT s.path, l.source, l.superseded_by_source AS last_source
    FROM unused_cost_lines AS l
    JOIN source_ledger AS s ON s.source_id = l.source
    JOIN source_ledger AS n ON n.source_id = l.superseded_by_source AND n.landing = s.landing AND n.path = s.path
    WHERE l.reason = 'superseded' AND l.superseded_by_line IS NULL
),
lines AS (
    SELECT source, period_end FROM cost_records
    UNION ALL
    SELECT source, period_end FROM unused_cost_lines
),
reaches AS (
    SELECT source, max(period_end) AS until_at FROM lines GROUP BY source
),
left_over AS (
    SELECT o.path, r.*
    FROM overwritten AS o
    JOIN reaches AS before ON before.source = o.source
    JOIN reaches AS now ON now.source = o.last_source AND now.until_at <= before.until_at
    JOIN cost_records AS r ON r.source = o.source
)
SELECT
    'medium' AS severity,
    path AS subject,
    format('{} was overwritten by fewer days: {:,.2f} USD of {:,} line(s), from {} to {}, are no longer in it and still count. If they were '
            || 'wrong, move the file away, `goodput forget {}`, and put it back',
        path, sum_usd(amount_usd), count(*), minute_utc(min(period_start)), minute_utc(max(period_end)), path) AS message,
    count(*) AS affected,
    sum_usd(amount_usd) AS amount_usd,
    min(period_start) AS first_seen_at,
    max(period_end) AS last_seen_at
FROM left_over
GROUP BY path
