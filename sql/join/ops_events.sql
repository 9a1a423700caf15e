-- description: Each operation on the fleet once (docs/semantics.md#operations): the last state of an event that is updated in place, the first of repeated reports
-- grain: event_id
-- reads: declared_names, event_records, event_subjects, named_replicas
WITH latest AS (
    SELECT * FROM event_records
    QUALIFY row_number() OVER (
        PARTITION BY event_id
            ORDER BY revised_ns DESC NULLS LAST, occurrences DESC NULLS LAST, occurred_ns, record_id, source_id
    ) = 1
),
mapped AS (
    SELECT
        e.* EXCLUDE (pool, replica),
        -- a subject that is known to be a replica does not name its pool
        CASE WHEN s.pool IS NULL AND s.replica IS NOT NULL THEN nullif(e.pool, e.subject) ELSE coalesce(s.pool, e.pool) END AS pool,
        coalesce(s.replica, e.replica) AS replica,
        s.subject IS NULL AND e.replica IS NULL AND e.pool = e.subject AS may_be_replica
    FROM latest AS e
    LEFT JOIN event_subjects AS s USING (subject)
),
named AS (
    SELECT e.*, coalesce(d.replica, n.replica) AS named, may_be_replica AND named <> e.pool AS is_replica
    FROM mapped AS e
    LEFT JOIN declared_names AS d ON d.name = coalesce(e.replica, e.subject)
    LEFT JOIN named_replicas AS n
        ON n.name = coalesce(e.replica, e.subject) AND n.epoch_hour = e.occurred_ns // 3600000000000
)
SELECT
    e.event_id,
    e.kind,
    at_utc(e.occurred_ns) AS occurred_at,
    CASE WHEN is_replica THEN NULL ELSE e.pool END AS pool,
    CASE WHEN is_replica OR e.replica IS NOT NULL THEN coalesce(named, e.replica) END AS replica,
    e.revision,
    e.subject,
    e.occurrences,
    e.detail,
    e.dialect,
    e.source_id AS source,
    e.line
FROM named AS e
