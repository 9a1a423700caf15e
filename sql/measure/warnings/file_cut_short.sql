-- description: Source files that were not read to their end, though more is there: what lies behind is in no number, and no hour shows that it is missing
-- grain: subject
-- reads: source_ledger
-- A file that was overwritten since is fixed. One that ends too early, as while it is written, has nothing that is not read.
WITH current AS (
    SELECT path, reason, status, size_bytes, unread_bytes
    FROM source_ledger
    QUALIFY row_number() OVER (PARTITION BY landing, path ORDER BY ingested_ns DESC, source_id DESC) = 1
)
SELECT
    'high' AS severity,
    path AS subject,
    format('{} was not read to its end: {}. Up to {:,} byte(s) are in no number (the file has {:,}), and their hours do not look incomplete. '
            || 'Repair the file, or raise the limit in the settings, and run again; `goodput sources --problems` lists it',
        path, reason, max(unread_bytes), max(size_bytes)) AS message,
    max(unread_bytes) AS affected
FROM current
WHERE status = 'read' AND unread_bytes > 0
GROUP BY path, reason
