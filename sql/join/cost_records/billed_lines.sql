-- description: Lines of exported bills, and for each that a later export of its billing period replaced a file of that export (FOCUS: a period's rows change until its invoice is closed, corrections come as rows of a later one)
-- grain: source_id, line, position
-- reads: source_exports, standing_lines
-- Rows of a source of the settings are identified by their cost_id instead: listed_lines.
WITH billed AS (
    SELECT l.*, x.export, x.export_date
    FROM standing_lines AS l
    JOIN source_exports AS x USING (source_id)
    WHERE l.basis = 'billing' AND l.dialect <> x.reader
),
exports AS (
    SELECT
        export, export_date, billing_account, sub_account, billing_period_start_ns,
        max(period_end_ns) AS reaches_ns, count(*) AS lines
    FROM billed
    GROUP BY ALL
),
ranked AS (
    SELECT
        b.*,
        dense_rank() OVER (of_day ORDER BY e.export_date DESC, e.reaches_ns DESC, e.lines DESC, e.export DESC) AS place,
        first_value(b.source_id) OVER (
            of_day ORDER BY e.export_date DESC, e.reaches_ns DESC, e.lines DESC, e.export DESC, b.source_id
        ) AS last_source
    FROM billed AS b
    JOIN exports AS e ON e.export = b.export AND e.export_date = b.export_date
        AND e.billing_account IS NOT DISTINCT FROM b.billing_account
        AND e.sub_account IS NOT DISTINCT FROM b.sub_account
        AND e.billing_period_start_ns IS NOT DISTINCT FROM b.billing_period_start_ns
    -- Day by day, so that exports of single days stand beside each other and a month to date replaces the one before.
    WINDOW of_day AS (
        PARTITION BY b.billing_account, b.sub_account, b.billing_period_start_ns, b.period_start_ns // 86400000000000
    )
)
SELECT
    * EXCLUDE (export, export_date, place, last_source) REPLACE (source_id || ':' || line || ':' || position AS cost_id),
    CASE WHEN place > 1 THEN 'superseded' END AS reason,
    CASE WHEN place > 1 THEN last_source END AS superseded_by_source,
    NULL::BIGINT AS superseded_by_line
FROM ranked
QUALIFY row_number() OVER (PARTITION BY source_id, line, position ORDER BY place, export) = 1
