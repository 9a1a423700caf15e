-- description: Files whose newest calls stand in them as they were and as they are now: a changed row is another attempt of its request
-- grain: subject
-- reads: serving_records, source_ledger
WITH records AS (
    -- a row that stays as it was is read again with each content of its file
    SELECT s.landing, s.path, r.request_key, r.started_ns, r.record_id, max(s.ingested_ns) AS last_read_ns
    FROM serving_records AS r
    JOIN source_ledger AS s USING (source_id)
    WHERE r.request_key IS NOT NULL
    GROUP BY ALL
),
rewritten AS (
    SELECT path, request_key, started_ns
    FROM records
    GROUP BY landing, path, request_key, started_ns
    HAVING min(last_read_ns) < max(last_read_ns)
)
SELECT
    'medium' AS severity,
    path AS subject,
    format('{} was rewritten: {:,} call(s) count as they were and as they are now, so as retries that nobody made. Map `attempt_id` if the file has '
            || 'one, and append rows, never change them; to take the older ones back move the file away, `goodput forget {}`, and put it back',
        path, count(*), path) AS message,
    count(*) AS affected,
    at_utc(min(started_ns)) AS first_seen_at,
    at_utc(max(started_ns)) AS last_seen_at
FROM rewritten
GROUP BY path
