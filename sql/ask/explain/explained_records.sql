-- description: Records with the ids `record_ids`, with the file of each; of copies in several files the first
-- grain: record_id
-- reads: serving_records, source_ledger
SELECT r.*, s.path, s.landing
FROM serving_records AS r
LEFT JOIN source_ledger AS s USING (source_id)
WHERE list_contains($record_ids, r.record_id)
QUALIFY row_number() OVER (PARTITION BY r.record_id ORDER BY r.source_id) = 1
