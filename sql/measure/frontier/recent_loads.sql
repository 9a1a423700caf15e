-- description: Load windows of the last 7 days, once for the slice by route and once for that by pool
-- grain: slice, name, window_start, workload, pool, route
-- reads: load_windows
-- kind: view
WITH recent AS (
    SELECT * FROM load_windows
    WHERE window_start > (SELECT max(window_start) FROM load_windows) - INTERVAL 7 DAY
)
SELECT 'route' AS slice, route AS name, * FROM recent
UNION ALL
SELECT 'pool' AS slice, pool AS name, * FROM recent
