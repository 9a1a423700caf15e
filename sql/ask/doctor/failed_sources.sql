-- description: Source files that are refused, were not read to their end, do not account for their rows, or have more of them in quarantine than variable quarantined_ratio
-- grain: path, source_id
-- reads: sources
SELECT
    path, source_id,
    CASE
        WHEN status = 'refused' THEN 'refused, ' || reason
        WHEN rows_read <> rows_kept + rows_duplicate + rows_quarantined + rows_ignored AND is_pending IS NOT TRUE
            THEN 'its rows are not accounted for'
        WHEN unread_bytes > 0 THEN format('up to {} bytes not read, {}', unread_bytes, reason)
        ELSE format('{} of {} rows in quarantine', rows_quarantined, rows_read)
    END AS wrong
FROM sources
WHERE status = 'refused' OR unread_bytes > 0 OR rows_quarantined > getvariable('quarantined_ratio')::DOUBLE * rows_read
    OR (rows_read <> rows_kept + rows_duplicate + rows_quarantined + rows_ignored AND is_pending IS NOT TRUE)
ORDER BY path, source_id
