-- description: Records below which spans mark more than one try, each of which need not have a record of its own (docs/semantics.md#which-tries-are-one-request)
-- grain: record_id
-- reads: serving_records, span_links
WITH RECURSIVE links AS ( -- without copies, which would multiply at every step
    SELECT trace_id, span_id, min(parent_span_id) AS parent_span_id, coalesce(bool_or(marks_try), false) AS marks_try
    FROM span_links
    WHERE parent_span_id IS NOT NULL
    GROUP BY ALL
),
climb AS (
    SELECT trace_id, span_id AS try_id, parent_span_id AS span_id, 0 AS steps
    FROM links
    WHERE marks_try
    UNION ALL
    SELECT c.trace_id, c.try_id, l.parent_span_id, c.steps + 1
    FROM climb AS c
    JOIN links AS l USING (trace_id, span_id)
    WHERE c.steps < 64 -- a loop of parents must end
),
nearest AS (
    SELECT c.trace_id, c.try_id, r.record_id
    FROM climb AS c
    JOIN serving_records AS r USING (trace_id, span_id)
    QUALIFY row_number() OVER (PARTITION BY c.trace_id, c.try_id ORDER BY c.steps, r.record_id) = 1
)
SELECT record_id, count(*) AS tries
FROM nearest
GROUP BY record_id
HAVING count(*) > 1
