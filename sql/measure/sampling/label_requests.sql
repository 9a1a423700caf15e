-- description: `measured_requests` that need a label, with all their dimensions: once (cut 0), and once for each slice by tenant or attribute
-- grain: request_key, cut
-- reads: measured_range, measured_requests, slice_cuts
-- kind: view
WITH ended AS (
    SELECT r.* FROM measured_requests AS r CROSS JOIN measured_range AS p
    WHERE r.needs_label AND r.ended_s >= p.from_s AND r.ended_s < p.until_s
)
SELECT 0 AS cut, NULL::VARCHAR AS slice_value, * EXCLUDE (cut_values) FROM ended
UNION ALL BY NAME
SELECT k.cut, r.cut_values[k.cut] AS slice_value, r.* EXCLUDE (cut_values) FROM ended AS r CROSS JOIN slice_cuts AS k
