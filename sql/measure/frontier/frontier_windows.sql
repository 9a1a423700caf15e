-- description: Load windows of the last 7 days, once for the slice by route and once for that by pool, without disrupted ones
-- grain: slice, name, window_start, workload, pool, route
-- reads: disrupted_loads, frontier_names, recent_loads
-- kind: view
SELECT * FROM recent_loads
SEMI JOIN frontier_names USING (slice, name)
ANTI JOIN disrupted_loads USING (slice, name, window_start)
