-- description: Files of bills with charges that a later export replaced without charging for the same resources throughout: two bills, perhaps, where one was meant
-- grain: subject
-- reads: cost_records, source_ledger, unused_cost_lines
WITH charged AS (
    SELECT dialect, service, resource_id, period_start, period_end FROM cost_records
    UNION
    SELECT dialect, service, resource_id, period_start, period_end FROM unused_cost_lines WHERE reason <> 'superseded'
),
begun AS (
    SELECT
        *,
        coalesce(period_start > max(period_end) OVER (
            PARTITION BY dialect, service, resource_id ORDER BY period_start, period_end
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ), true) AS is_first
    FROM charged
),
numbered AS (
    SELECT
        *,
        sum(is_first::INT) OVER (PARTITION BY dialect, service, resource_id ORDER BY period_start, period_end) AS span
    FROM begun
),
-- without a gap between
charged_spans AS (
    SELECT dialect, service, resource_id, span, min(period_start) AS from_at, max(period_end) AS until_at
    FROM numbered
    GROUP BY ALL
),
displaced AS (
    SELECT
        l.*,
        s.path,
        n.path AS last_path,
        NOT EXISTS (
            FROM charged_spans AS c
            WHERE c.dialect = l.dialect AND c.service IS NOT DISTINCT FROM l.service
                AND c.resource_id IS NOT DISTINCT FROM l.resource_id
                AND c.from_at <= l.period_start AND c.until_at >= l.period_end
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
    format('{:,.2f} {} of {:,} line(s) in {} are in no number: {} replaces them, and nothing shows that it charges for the same use. If both '
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
