-- description: Serving records without copies
-- grain: record_id
-- reads: record_copies, serving_records
-- kind: view
SELECT r.* FROM serving_records AS r ANTI JOIN record_copies AS c ON c.record_id = r.record_id AND c.source_id = r.source_id
