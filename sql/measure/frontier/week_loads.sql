-- description: Load windows of the last 7 days
-- grain: window_start, workload, pool, route
-- reads: load_windows
-- a table: the files of a week are many, and most of what follows reads it
SELECT * FROM load_windows
WHERE window_start > (SELECT max(window_start) FROM load_windows) - INTERVAL 7 DAY
