-- description: Files whose newest calls stand in them as they were and as they are now: a changed row is another attempt of its request
-- grain: subject
-- reads: serving_records, source_ledger
WITH contents AS (
    SELECT source_id, landing, path, ingested_ns
    FROM source_ledger
    QUALIFY count(*) OVER (PARTITION BY landing, path) > 1
),
records AS (
    -- a row that stays as it was is read again with each content of its file
    SELECT
        s.landing, s.path, r.request_key, r.started_ns, r.ended_ns, r.record_id, max(s.ingested_ns) AS last_read_ns,
        max(max(s.ingested_ns)) OVER (PARTITION BY s.landing, s.path) AS newest_read_ns
    FROM serving_records AS r
    JOIN contents AS s USING (source_id)
    GROUP BY s.landing, s.path, r.request_key, r.started_ns, r.ended_ns, r.record_id
),
keyed AS (
    SELECT landing, path, started_ns
    FROM records
    WHERE request_key IS NOT NULL
    GROUP BY landing, path, request_key, started_ns
    HAVING min(last_read_ns) < max(last_read_ns)
),
-- Rows that nothing names are known by their times. A log that has begun anew under its path has other ones, but for a
-- few that by chance fall together.
nameless AS (
    SELECT
        landing, path, last_read_ns, started_ns,
        last_read_ns < newest_read_ns AS is_older,
        bool_or(NOT is_older) OVER (PARTITION BY landing, path, started_ns, ended_ns) AS is_there_again
    FROM records
    WHERE request_key IS NULL
),
doubled AS (
    SELECT landing, path, started_ns
    FROM nameless
    WHERE is_older
    WINDOW of_content AS (PARTITION BY landing, path, last_read_ns)
    QUALIFY is_there_again AND 2 * count(*) FILTER (is_there_again) OVER of_content >= count(*) OVER of_content
),
rewritten AS (
    SELECT path, started_ns, false AS is_doubled FROM keyed
    UNION ALL
    SELECT path, started_ns, true AS is_doubled FROM doubled
)
SELECT
    CASE WHEN bool_or(is_doubled) THEN 'high' ELSE 'medium' END AS severity,
    path AS subject,
    format('{} was rewritten: {:,} call(s) count as they were and as they are now, so {}. Map `attempt_id` if the file has '
            || 'one, and append rows, never change them; to take the older ones back move the file away, `goodput forget {}`, and put it back',
        path, count(*), CASE WHEN bool_or(is_doubled) THEN 'twice' ELSE 'as retries that nobody made' END, path) AS message,
    count(*) AS affected,
    at_utc(min(started_ns)) AS first_seen_at,
    at_utc(max(started_ns)) AS last_seen_at
FROM rewritten
GROUP BY path
