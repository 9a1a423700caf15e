-- description: Serving records with the shard in which each is joined
-- grain: record_id, source_id
-- reads: serving_records, shard_components, shard_count
-- kind: view
SELECT r.*, (coalesce(c.component, record_place(r.trace_id, r.record_id)) % n.shards)::INTEGER AS shard
FROM serving_records AS r
CROSS JOIN shard_count AS n
LEFT JOIN shard_components AS c ON c.place = record_place(r.trace_id, r.record_id)
