-- description: Lines that are no export's (allocations, and every row of a source of the settings), and for each that another one replaced which
-- grain: source_id, line, position
-- reads: source_exports, standing_lines
-- A row of a source of the settings is the line that its cost_id names, whatever else it leaves out; an allocation is that of a
-- resource in a window. Of one line the last given counts.
WITH listed AS (
    SELECT
        l.*, x.export_date,
        CASE WHEN l.dialect = x.reader THEN {'cost_id': l.cost_id, 'sub_account': NULL, 'resource_id': NULL, 'from_ns': NULL, 'to_ns': NULL}
            ELSE {'cost_id': NULL, 'sub_account': l.sub_account, 'resource_id': l.resource_id,
                'from_ns': l.window_start_ns, 'to_ns': l.window_end_ns}
        END AS identity,
        l.basis = 'allocation' AND l.resource_id IS NOT NULL AND l.window_start_ns IS NOT NULL AND l.window_end_ns IS NOT NULL
            AS has_window
    FROM standing_lines AS l
    JOIN (SELECT source_id, reader, max(export_date) AS export_date FROM source_exports GROUP BY ALL) AS x USING (source_id)
    WHERE l.basis <> 'billing' OR l.dialect = x.reader
),
ranked AS (
    SELECT
        *,
        row_number() OVER last_first = 1 AS is_last,
        first_value(source_id) OVER last_first AS last_source,
        first_value(line) OVER last_first AS last_line
    FROM listed
    WINDOW last_first AS (
        PARTITION BY dialect, identity
        ORDER BY export_date DESC, period_end_ns DESC, amount_usd DESC, record_id, source_id, line, position
    )
),
-- repeated queries of the day so far, and hours beside their day: the widest window includes them all
covered AS (
    SELECT
        *,
        max(window_end_ns) OVER (
            PARTITION BY dialect, sub_account, resource_id ORDER BY window_start_ns, window_end_ns DESC
            GROUPS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) >= window_end_ns AS is_covered
    FROM ranked
    WHERE is_last AND has_window
),
covering AS (
    SELECT
        c.source_id, c.line, c.position,
        min({'from_ns': w.window_start_ns, 'source': w.source_id, 'line': w.line}) AS by
    FROM covered AS c
    JOIN covered AS w ON w.dialect = c.dialect AND w.resource_id = c.resource_id
        AND w.sub_account IS NOT DISTINCT FROM c.sub_account
        AND w.window_start_ns <= c.window_start_ns AND w.window_end_ns >= c.window_end_ns
    WHERE c.is_covered AND NOT coalesce(w.is_covered, false)
    GROUP BY ALL
)
SELECT
    r.* EXCLUDE (export_date, identity, has_window, is_last, last_source, last_line),
    CASE
        WHEN NOT is_last AND last_source = source_id AND identity.cost_id IS NOT NULL THEN 'same_cost_id'
        WHEN NOT is_last OR c.by IS NOT NULL THEN 'superseded'
    END AS reason,
    CASE WHEN NOT is_last THEN last_source ELSE c.by.source END AS superseded_by_source,
    CASE WHEN NOT is_last THEN last_line ELSE c.by.line END AS superseded_by_line
FROM ranked AS r
LEFT JOIN covering AS c USING (source_id, line, position)
