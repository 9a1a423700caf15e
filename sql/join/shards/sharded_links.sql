-- description: Links of spans with the shard in which their trace is joined
-- grain: link_id, source_id
-- reads: shard_components, shard_count, span_links
-- kind: view
SELECT l.*, (coalesce(c.component, trace_place(l.trace_id)) % n.shards)::INTEGER AS shard
FROM span_links AS l
CROSS JOIN shard_count AS n
LEFT JOIN shard_components AS c ON c.place = trace_place(l.trace_id)
