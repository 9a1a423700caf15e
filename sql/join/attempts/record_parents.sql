-- description: For each record the nearest serving record above it: by its trace, past that by the layer at which it was recorded, or by another record of the same call
-- grain: child_id
-- reads: double_records, layer_views, span_parents, unique_records
SELECT p.child_id, coalesce(v.host_id, p.parent_id) AS parent_id, p.started_ns, p.succeeded
FROM span_parents AS p
LEFT JOIN layer_views AS v ON v.record_id = p.child_id
WHERE coalesce(v.host_id, p.parent_id) IS NOT NULL
UNION ALL
SELECT d.record_id, d.outer_id, r.started_ns, r.outcome = 'ok'
FROM double_records AS d
JOIN unique_records AS r USING (record_id)
WHERE d.is_same_call AND d.record_id NOT IN (SELECT record_id FROM layer_views)
