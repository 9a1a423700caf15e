-- description: Lines of bills that no later export of the same billing period replaced (FOCUS: a period's rows change until its invoice is closed, corrections come as rows of a later one)
-- grain: source_id, line, position
-- reads: cost_lines, source_exports
WITH billed AS (
    SELECT l.*, x.export, x.export_date
    FROM cost_lines AS l
    JOIN source_exports AS x USING (source_id)
    WHERE l.basis = 'billing'
),
exports AS (
    SELECT
        export, export_date, billing_account, sub_account, billing_period_start_ns,
        max(period_end_ns) AS reaches_ns, count(*) AS lines
    FROM billed
    GROUP BY ALL
)
SELECT b.* EXCLUDE (export, export_date)
FROM billed AS b
JOIN exports AS e ON e.export = b.export AND e.export_date = b.export_date
    AND e.billing_account IS NOT DISTINCT FROM b.billing_account
    AND e.sub_account IS NOT DISTINCT FROM b.sub_account
    AND e.billing_period_start_ns IS NOT DISTINCT FROM b.billing_period_start_ns
-- Day by day, so that exports of single days stand beside each other and a month to date replaces the one before.
QUALIFY dense_rank() OVER (
    PARTITION BY b.billing_account, b.sub_account, b.billing_period_start_ns, b.period_start_ns // 86400000000000
    ORDER BY e.export_date DESC, e.reaches_ns DESC, e.lines DESC, e.export DESC
) = 1
