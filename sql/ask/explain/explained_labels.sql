-- description: Labels of request `key`, with the file of each
-- grain: label_id
-- reads: quality_labels, source_ledger
SELECT l.*, s.path, s.landing
FROM quality_labels AS l
LEFT JOIN source_ledger AS s ON s.source_id = l.source
WHERE l.request_key = $key
ORDER BY l.labelled_at, l.label_id
