-- description: What spans above a record that are no serving records tell of it: its session, and how it failed where it does not show how it ended (docs/semantics.md#one-attempt-several-records)
-- grain: record_id
-- reads: record_copies, serving_records, span_links
WITH RECURSIVE links AS ( -- without copies, which would multiply at every step
    SELECT
        trace_id, span_id,
        min(parent_span_id) AS parent_span_id, min(session_id) AS session_id,
        min({'outcome': outcome, 'error_type': error_type, 'ended_ns': ended_ns}) FILTER (WHERE outcome IS NOT NULL) AS failed
    FROM span_links
    GROUP BY ALL
),
below AS ( -- down from each span that tells something
    SELECT trace_id, span_id AS teller, span_id, session_id, failed, 0 AS steps
    FROM links
    WHERE session_id IS NOT NULL OR failed IS NOT NULL
    UNION ALL
    SELECT b.trace_id, b.teller, l.span_id, b.session_id, b.failed, b.steps + 1
    FROM below AS b
    JOIN links AS l ON l.trace_id = b.trace_id AND l.parent_span_id = b.span_id
    WHERE b.steps < 64 -- a loop of parents must end
),
reported AS (
    SELECT
        r.record_id, b.session_id, b.failed, b.steps,
        -- what failed with its last call, and at once, failed because of it
        r.outcome = 'unknown' AND abs(b.failed.ended_ns - r.ended_ns) <= 1000000000
            AND r.ended_ns = max(r.ended_ns) OVER (PARTITION BY b.trace_id, b.teller) AS failed_with
    FROM below AS b
    JOIN serving_records AS r ON r.trace_id = b.trace_id AND r.parent_span_id = b.span_id
    -- a copy may name another parent: above a record is what the one that counts names
    ANTI JOIN record_copies AS c ON c.record_id = r.record_id AND c.source_id = r.source_id
)
SELECT
    record_id,
    arg_min(session_id, steps) AS session_id,
    arg_min(failed, steps) FILTER (WHERE failed_with) AS failed
FROM reported
GROUP BY record_id
HAVING arg_min(session_id, steps) IS NOT NULL OR bool_or(failed_with)
