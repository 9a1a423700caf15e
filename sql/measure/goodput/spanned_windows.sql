-- description: Windows between the one in which a request arrived and the one in which it ended: work was under way in all of them
-- grain: window_s, start_s, cut, slice_value, workload, model, pool, route
-- reads: cut_requests, grains, measured_range
SELECT DISTINCT window_s, start_s, cut, slice_value, workload, model, pool, route
FROM (
    SELECT
        window_s, unnest(range(first_s + window_s, last_s, window_s)) AS start_s,
        cut, slice_value, workload, model, pool, route
    FROM (
        SELECT DISTINCT
            g.window_s, cut, slice_value, workload, model, pool, route,
            arrived_s // g.window_s * g.window_s AS first_s, ended_s // g.window_s * g.window_s AS last_s
        FROM cut_requests
        CROSS JOIN grains AS g
        WHERE ended_s - arrived_s > g.window_s
    )
)
CROSS JOIN measured_range
WHERE start_s >= from_s AND start_s < until_s
