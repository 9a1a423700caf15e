-- description: Labels with the shard in which each is joined
-- grain: record_id, source_id
-- reads: label_records, shard_components, shard_count
-- kind: view
SELECT l.*, (coalesce(c.component, label_place(l.label_id)) % n.shards)::INTEGER AS shard
FROM label_records AS l
CROSS JOIN shard_count AS n
LEFT JOIN shard_components AS c ON c.place = label_place(l.label_id)
