-- description: For each record the nearest serving record above it in its trace, past spans that are not serving records; where none was received, the outermost span that its parents name
-- grain: child_id
-- reads: record_choices, record_halves, span_links, unique_records
WITH RECURSIVE links AS ( -- without copies, which would multiply at every step
    SELECT trace_id, span_id, min(parent_span_id) AS parent_span_id
    FROM span_links
    WHERE parent_span_id IS NOT NULL
    GROUP BY ALL
),
-- no record stands above or beside the only one of its trace
traced AS (
    SELECT record_id, layer, trace_id, span_id, parent_span_id, started_ns, outcome
    FROM unique_records
    WHERE trace_id IS NOT NULL
        AND hash(trace_id) IN (SELECT hash(trace_id) FROM unique_records GROUP BY ALL HAVING count(*) > 1)
),
climb AS (
    SELECT record_id AS child_id, layer, started_ns, outcome = 'ok' AS succeeded, trace_id, parent_span_id AS span_id, 0 AS steps
    FROM traced
    ANTI JOIN record_choices USING (record_id) -- they go where the choice goes that they belong to
    ANTI JOIN record_halves USING (record_id)
    WHERE parent_span_id IS NOT NULL
    UNION ALL
    SELECT c.child_id, c.layer, c.started_ns, c.succeeded, c.trace_id, l.parent_span_id, c.steps + 1
    FROM climb AS c
    JOIN links AS l USING (trace_id, span_id)
    WHERE c.steps < 64 -- a loop of parents must end
),
recorded AS (
    SELECT c.child_id, c.layer, p.record_id AS parent_id, c.started_ns, c.succeeded
    FROM climb AS c
    JOIN traced AS p USING (trace_id, span_id)
    WHERE p.record_id <> c.child_id
    QUALIFY row_number() OVER (PARTITION BY c.child_id ORDER BY c.steps, p.record_id) = 1
)
SELECT child_id, layer, parent_id, NULL::VARCHAR AS missing_span, started_ns, succeeded FROM recorded
UNION ALL
SELECT
    child_id, layer, NULL, concat_ws(':', trace_id, span_id), started_ns, succeeded
FROM climb
ANTI JOIN recorded USING (child_id)
QUALIFY row_number() OVER (PARTITION BY child_id ORDER BY steps DESC) = 1
