-- description: What a gateway tells of a request in a log as well, beside its span or another log: each such record with the telling that it stands beside, found by an id that both carry and by the time (docs/semantics.md#one-attempt-several-records)
-- grain: record_id
-- reads: unique_records
WITH told AS (
    SELECT
        record_id, dialect, call_id, response_id, started_ns,
        coalesce(ended_ns, started_ns) AS over_ns,
        span_id IS NULL AS is_logged,
        (span_id IS NULL, dialect) AS standing -- a span, which others may lie below, before any log
    FROM unique_records
    WHERE layer = 'gateway' AND covers_tries AND (SELECT count(DISTINCT dialect) > 1 FROM unique_records)
),
ids AS (
    SELECT *, unnest(['call:' || call_id, 'answer:' || response_id]) AS id FROM told
),
pairs AS (
    SELECT DISTINCT
        g.record_id,
        g.dialect,
        h.record_id AS host_id,
        h.standing,
        abs(g.started_ns - h.started_ns) + abs(g.over_ns - h.over_ns) AS apart_ns
    FROM ids AS g
    JOIN ids AS h ON h.id = g.id AND h.standing < g.standing AND h.dialect <> g.dialect
    WHERE g.is_logged
        -- a caller may try again with the same id; clocks of logs tell milliseconds
        AND abs(g.started_ns - h.started_ns) <= 1000000000 AND abs(g.over_ns - h.over_ns) <= 1000000000
)
SELECT record_id, host_id AS match_id
FROM pairs
QUALIFY row_number() OVER (PARTITION BY record_id ORDER BY standing, apart_ns, host_id) = 1
    AND row_number() OVER (PARTITION BY host_id, dialect ORDER BY apart_ns, record_id) = 1
