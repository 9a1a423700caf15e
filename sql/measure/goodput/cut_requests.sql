-- description: `measured_requests` as the counts need them: by the finest dimensions (cut 0), and by each slice of a tenant or attribute within the workload
-- grain: request_key, cut
-- reads: measured_requests, slice_cuts
-- kind: view
SELECT 0 AS cut, NULL::VARCHAR AS slice_value, * EXCLUDE (cut_values) FROM measured_requests
UNION ALL BY NAME
SELECT k.cut, r.cut_values[k.cut] AS slice_value, r.* EXCLUDE (model, pool, route, cut_values)
FROM measured_requests AS r
CROSS JOIN slice_cuts AS k
