-- description: Load windows of the last 7 days, once for the slice by route and once for that by pool
-- grain: slice, name, window_start, workload, pool, route
-- reads: week_loads
-- kind: view
SELECT 'route' AS slice, route AS name, * FROM week_loads
UNION ALL
SELECT 'pool' AS slice, pool AS name, * FROM week_loads
