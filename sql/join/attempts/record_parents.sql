-- description: For each record the nearest serving record above it in its trace, past spans that are not serving records
-- grain: child_id
-- reads: record_choices, span_links, unique_records
WITH RECURSIVE links AS ( -- without copies, which would multiply at every step
    SELECT trace_id, span_id, min(parent_span_id) AS parent_span_id
    FROM span_links
    GROUP BY ALL
),
-- no record stands above the only one of its trace
traced AS (
    SELECT record_id, trace_id, span_id, parent_span_id, started_ns, outcome
    FROM unique_records
    WHERE trace_id IS NOT NULL
        AND hash(trace_id) IN (SELECT hash(trace_id) FROM unique_records GROUP BY ALL HAVING count(*) > 1)
),
climb AS (
    SELECT record_id AS child_id, started_ns, outcome = 'ok' AS succeeded, trace_id, parent_span_id AS span_id, 0 AS steps
    FROM traced
    ANTI JOIN record_choices USING (record_id) -- they go where the choice goes that they belong to
    WHERE parent_span_id IS NOT NULL
    UNION ALL
    SELECT c.child_id, c.started_ns, c.succeeded, c.trace_id, l.parent_span_id, c.steps + 1
    FROM climb AS c
    JOIN links AS l USING (trace_id, span_id)
    WHERE c.steps < 64 -- a loop of parents must end
)
SELECT c.child_id, p.record_id AS parent_id, c.started_ns, c.succeeded
FROM climb AS c
JOIN traced AS p USING (trace_id, span_id)
WHERE p.record_id <> c.child_id
QUALIFY row_number() OVER (PARTITION BY c.child_id ORDER BY c.steps, p.record_id) = 1
