-- description: Serving records of each source in each hour, and how many of them came from another source too
-- grain: source_id, epoch_hour
-- reads: record_copies, serving_records
-- kind: view
SELECT
    r.source_id,
    coalesce(r.ended_ns, r.started_ns) // 3600000000000 AS epoch_hour,
    count(*) AS records,
    count(c.record_id) AS duplicates
FROM serving_records AS r
LEFT JOIN record_copies AS c ON c.record_id = r.record_id AND c.source_id = r.source_id
GROUP BY ALL
