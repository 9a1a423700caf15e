-- description: The windows that the knee of each route and pool is fitted to: those of a sweep where there is one, else all
-- grain: slice, name, window_start
-- reads: frontier_loads, frontier_points
SELECT
    slice, name, window_start, l.window_s, l.load_bin,
    l.carried, l.replica_time_s, l.load_rps, l.declared_rps,
    p.ended
FROM frontier_loads AS l
JOIN frontier_points AS p USING (slice, name, window_start)
-- a window that no rate was declared for lies beside the sweep, or between two of its runs
QUALIFY l.declared_rps IS NOT NULL OR NOT bool_or(l.declared_rps IS NOT NULL) OVER (PARTITION BY slice, name)
