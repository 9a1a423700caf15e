-- description: Lines of exported bills, and for each that a later export of its billing period replaced a file of that export (FOCUS: a period's rows change until its invoice is closed, corrections come as rows of a later one)
-- grain: source_id, line, position
-- reads: source_exports, standing_lines
-- Rows of a source of the settings are identified by their cost_id instead: listed_lines.
WITH billed AS (
    SELECT
        l.*, x.export, x.export_date,
        {'account': l.billing_account, 'sub_account': l.sub_account, 'from_ns': l.billing_period_start_ns} AS period,
        l.period_start_ns // 86400000000000 AS day
    FROM standing_lines AS l
    JOIN source_exports AS x USING (source_id)
    WHERE l.basis = 'billing' AND l.dialect <> x.reader
),
exports AS (
    SELECT export, export_date, period, min(period_start_ns) AS begins_ns, max(period_end_ns) AS reaches_ns, count(*) AS lines
    FROM billed
    GROUP BY ALL
),
-- Day by day, so that exports of single days stand beside each other and a month to date replaces the one before.
of_day AS (
    SELECT b.period, b.day, e.export, e.export_date, e.begins_ns, e.reaches_ns, e.lines, min(b.source_id) AS source
    FROM billed AS b
    JOIN exports AS e USING (period, export, export_date)
    GROUP BY ALL
),
ranked AS (
    SELECT
        *,
        row_number() OVER (PARTITION BY period, day ORDER BY export_date DESC, reaches_ns DESC, lines DESC, export DESC) AS place
    FROM of_day
),
-- exports of other hours of a day are no later states of one another
replaced AS (
    SELECT b.source_id, b.line, b.position, b.export, b.export_date, arg_min(later.source, later.place) AS last_source
    FROM billed AS b
    JOIN ranked AS own USING (period, day, export, export_date)
    JOIN ranked AS later ON later.period = b.period AND later.day = b.day AND later.place < own.place
        AND b.period_start_ns < later.reaches_ns AND (b.period_end_ns > later.begins_ns OR b.period_start_ns = later.begins_ns)
    GROUP BY ALL
)
SELECT
    b.* EXCLUDE (export, export_date, period, day) REPLACE (b.source_id || ':' || line || ':' || position AS cost_id),
    CASE WHEN r.last_source IS NOT NULL THEN 'superseded' END AS reason,
    r.last_source AS superseded_by_source,
    NULL::BIGINT AS superseded_by_line
FROM billed AS b
LEFT JOIN replaced AS r USING (source_id, line, position, export, export_date)
QUALIFY row_number() OVER (PARTITION BY source_id, line, position ORDER BY r.last_source IS NOT NULL, export) = 1
