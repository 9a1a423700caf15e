-- description: Offered load per replica of each route and pool in each window, and the bin that it lies in
-- grain: slice, name, window_start
-- reads: frontier_windows
-- unit: twenty bins to a decade of load_rps, each 12 % wide, wherever the loads lie
WITH summed AS (
    SELECT
        slice, name, window_start, window_s,
        len(list_distinct(flatten(list(replicas)))) AS replicas,
        sum(arrivals)::BIGINT AS arrivals
    FROM frontier_windows
    GROUP BY ALL
)
SELECT
    *,
    arrivals / window_s / greatest(replicas, 1) AS load_rps,
    floor(20 * log10(load_rps) + 1e-9)::INTEGER AS load_bin,
    dense_rank() OVER (ORDER BY slice, name, load_bin)::INTEGER AS bin_id
FROM summed
