-- description: Allocations of which none lies within the window of another of the same resource
-- grain: record_id
-- reads: cost_lines, source_exports
WITH allocated AS (
    SELECT l.*, e.export_date
    FROM cost_lines AS l
    JOIN source_exports AS e USING (source_id)
    WHERE l.basis = 'allocation'
),
latest AS (
    SELECT * FROM allocated
    QUALIFY row_number() OVER (
        PARTITION BY sub_account, resource_id, window_start_ns, window_end_ns
        ORDER BY export_date DESC, period_end_ns DESC, amount_usd DESC, record_id, source_id
    ) = 1
),
-- repeated queries of the day so far, and hours beside their day: the widest window includes them all
widest AS (
    SELECT
        *,
        max(window_end_ns) OVER (
            PARTITION BY sub_account, resource_id ORDER BY window_start_ns, window_end_ns DESC
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS covered_ns
    FROM latest
)
SELECT * EXCLUDE (export_date, covered_ns)
FROM widest
WHERE covered_ns IS NULL OR covered_ns < window_end_ns
