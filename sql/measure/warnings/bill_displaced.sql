-- description: Files of bills with charges that a later export replaced without charging for the same resources: two bills, perhaps, where one was meant
-- grain: subject
-- reads: cost_records, source_ledger, unused_cost_lines
WITH charged AS (
    SELECT dialect, service, resource_id, period_start FROM cost_records
    UNION
    SELECT dialect, service, resource_id, period_start FROM unused_cost_lines WHERE reason <> 'superseded'
),
displaced AS (
    SELECT
        l.*,
        s.path,
        n.path AS last_path,
        NOT EXISTS (
            FROM charged AS c
            WHERE c.dialect = l.dialect AND c.service IS NOT DISTINCT FROM l.service
                AND c.resource_id IS NOT DISTINCT FROM l.resource_id
                AND time_bucket(INTERVAL 1 DAY, c.period_start) = time_bucket(INTERVAL 1 DAY, l.period_start)
        )
        -- without resources nothing but the dates of two files shows that one is the later state of the other
        OR (l.resource_id IS NULL AND (s.landing, s.path) <> (n.landing, n.path) AND path_date(s.path) = path_date(n.path)) AS is_gone
    FROM unused_cost_lines AS l
    JOIN source_ledger AS s ON s.source_id = l.source
    JOIN source_ledger AS n ON n.source_id = l.superseded_by_source
    WHERE l.reason = 'superseded' AND l.superseded_by_line IS NULL
)
SELECT
    'medium' AS severity,
    d.path AS subject,
    format('{:,.2f} {} of {:,} line(s) in {} are in no number: {} replaces their days, and nothing shows that it charges for the same use. If both '
            || 'are parts of one bill, put them in one folder as files that differ in a part number (part-1, part-2)',
        sum(d.amount::DECIMAL(38, 12)) FILTER (WHERE is_gone)::DOUBLE, any_value(d.currency), count(*) FILTER (WHERE is_gone),
        d.path, min(d.last_path)) AS message,
    count(*) FILTER (WHERE is_gone) AS affected,
    count(*) AS total,
    sum(d.amount::DECIMAL(38, 12)) FILTER (WHERE is_gone AND d.currency = 'USD')::DOUBLE AS amount_usd,
    min(d.period_start) FILTER (WHERE is_gone) AS first_seen_at,
    max(d.period_end) FILTER (WHERE is_gone) AS last_seen_at
FROM displaced AS d
GROUP BY d.path
HAVING abs(sum(d.amount) FILTER (WHERE is_gone)) >= 0.01 * sum(abs(d.amount))
