-- description: For each record the nearest serving record above it: by its trace, and past that by the layer at which it was recorded
-- grain: child_id
-- reads: layer_views, span_parents
SELECT p.child_id, coalesce(v.host_id, p.parent_id) AS parent_id, p.started_ns, p.succeeded
FROM span_parents AS p
LEFT JOIN layer_views AS v ON v.record_id = p.child_id
WHERE coalesce(v.host_id, p.parent_id) IS NOT NULL
