-- description: Each operation on the fleet once (semantics 10): of an event that is changed in place its last state, of tellings that never change the first
-- grain: event_id
WITH told AS (
    SELECT * FROM event_records
    QUALIFY row_number() OVER (
        PARTITION BY event_id
            ORDER BY revised_ns DESC NULLS LAST, occurrences DESC NULLS LAST, occurred_ns, record_id, source_id
    ) = 1
)
SELECT
    t.event_id,
    t.kind,
    at_utc(t.occurred_ns) AS occurred_at,
    -- what is known to be a replica does not name its pool
    CASE WHEN s.pool IS NULL AND s.replica IS NOT NULL THEN nullif(t.pool, t.subject) ELSE coalesce(s.pool, t.pool) END AS pool,
    coalesce(s.replica, t.replica) AS replica,
    t.revision,
    t.subject,
    t.occurrences,
    t.detail,
    t.dialect,
    t.source_id AS source,
    t.line
FROM told AS t
LEFT JOIN event_subjects AS s USING (subject)
