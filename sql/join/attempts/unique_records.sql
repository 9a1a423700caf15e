-- description: Serving records without copies and without tries of no request, with as many tries as the spans below them mark
-- grain: record_id
-- reads: counted_tries, detached_tries, record_copies, serving_records
-- kind: view
SELECT r.* REPLACE (coalesce(greatest(r.reported_attempts, t.tries), r.reported_attempts, t.tries) AS reported_attempts)
FROM serving_records AS r
ANTI JOIN record_copies AS c ON c.record_id = r.record_id AND c.source_id = r.source_id
ANTI JOIN detached_tries AS d ON d.record_id = r.record_id
LEFT JOIN counted_tries AS t ON t.record_id = r.record_id
