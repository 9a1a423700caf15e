-- description: What each request counts as in the slices by tenant or attribute
-- grain: request_key, ended_s
-- reads: requests, slice_cuts
-- kind: view
SELECT
    request_key,
    CASE WHEN verdict <> 'in_flight' THEN epoch_us(ended_at) // 1000000 END AS ended_s,
    cut_values((SELECT list(path ORDER BY cut) FROM slice_cuts), tenant, attributes) AS cut_values
FROM requests
WHERE EXISTS (FROM slice_cuts)
