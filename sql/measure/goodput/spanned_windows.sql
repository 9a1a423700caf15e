-- description: Windows between the one in which a request arrived and the one in which it ended: work was under way in all of them
-- grain: window_s, start_s, cut, slice_value, workload, model, pool, route
-- reads: cut_requests, grains, measured_range, window_options
-- What lies further back than a request reaches from its end may or may not have been read: it never counts.
SELECT DISTINCT window_s, start_s, cut, slice_value, workload, model, pool, route
FROM (
    SELECT
        window_s, unnest(range(first_s + window_s, last_s, window_s)) AS start_s,
        cut, slice_value, workload, model, pool, route
    FROM (
        SELECT DISTINCT
            g.window_s, cut, slice_value, workload, model, pool, route,
            greatest(arrived_s // g.window_s, (ended_s // 3600 - request_reach_h) * 3600 // g.window_s - 1) * g.window_s AS first_s,
            ended_s // g.window_s * g.window_s AS last_s
        FROM cut_requests
        CROSS JOIN grains AS g
        CROSS JOIN window_options
        WHERE ended_s - arrived_s > g.window_s
    )
)
CROSS JOIN measured_range
WHERE start_s >= from_s AND start_s < until_s
