-- description: Files whose newest records differ from what was read before under the same ids: one of the two counts, and not the one that was read last
-- grain: subject
-- reads: serving_records, source_ledger
WITH copies AS (
    SELECT
        r.record_id, r.source_id, r.started_ns, s.path, s.ingested_ns,
        (r.outcome, r.http_status, r.started_ns, r.ended_ns, r.first_token_ns, r.input_tokens, r.output_tokens, r.model, r.replica) AS content
    FROM serving_records AS r
    JOIN source_ledger AS s USING (source_id)
    WHERE hash(r.record_id) IN (SELECT hash(record_id) FROM serving_records GROUP BY hash(record_id) HAVING count(*) > 1)
),
differing AS (
    SELECT
        arg_max(path, (ingested_ns, source_id)) AS path,
        arg_max(started_ns, (ingested_ns, source_id)) AS started_ns
    FROM copies
    GROUP BY record_id
    -- of equal ids that of the smallest source counts
    HAVING arg_min(content, source_id) IS DISTINCT FROM arg_max(content, (ingested_ns, source_id))
)
SELECT
    'high' AS severity,
    path AS subject,
    format('{} has {:,} record(s) that differ from what was read before under the same ids. What was read before counts, as no order of files may decide. '
            || 'To have them as they are now, move the file away, `goodput forget {}` and what else holds them, and put it back', path, count(*), path) AS message,
    count(*) AS affected,
    at_utc(min(started_ns)) AS first_seen_at,
    at_utc(max(started_ns)) AS last_seen_at
FROM differing
GROUP BY path
