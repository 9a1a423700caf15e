-- description: Each operation on the fleet once (docs/semantics.md#operations): the last state of an event that is updated in place, the first of repeated reports
-- grain: event_id
-- reads: event_records, event_subjects
WITH latest AS (
    SELECT * FROM event_records
    QUALIFY row_number() OVER (
        PARTITION BY event_id
            ORDER BY revised_ns DESC NULLS LAST, occurrences DESC NULLS LAST, occurred_ns, record_id, source_id
    ) = 1
)
SELECT
    e.event_id,
    e.kind,
    at_utc(e.occurred_ns) AS occurred_at,
    -- a subject that is known to be a replica does not name its pool
    CASE WHEN s.pool IS NULL AND s.replica IS NOT NULL THEN nullif(e.pool, e.subject) ELSE coalesce(s.pool, e.pool) END AS pool,
    coalesce(s.replica, e.replica) AS replica,
    e.revision,
    e.subject,
    e.occurrences,
    e.detail,
    e.dialect,
    e.source_id AS source,
    e.line
FROM latest AS e
LEFT JOIN event_subjects AS s USING (subject)
