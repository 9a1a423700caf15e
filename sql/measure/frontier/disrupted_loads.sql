-- description: Windows of each route and pool in which an operation disrupted a pool that served it: left out unless the settings ask for them
-- grain: slice, name, window_start
-- reads: disruptions, frontier_options, recent_loads
SELECT DISTINCT slice, name, window_start
FROM recent_loads AS r
JOIN disruptions AS d
    ON (d.pool IS NULL OR d.pool = r.pool)
    AND (r.window_start < d.ended_at OR r.window_start <= d.occurred_at)
    AND r.window_start + r.window_s * INTERVAL 1 SECOND > d.occurred_at
CROSS JOIN frontier_options
WHERE NOT include_disrupted
