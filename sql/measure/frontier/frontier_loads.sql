-- description: Offered load per replica of each route and pool in each window, and the bin that it lies in
-- grain: slice, name, window_start
-- reads: frontier_carried, frontier_windows
-- unit: carried are the arrivals of every route (or pool) on the replicas of this one; twenty bins to a decade of load_rps, each 12 % wide, wherever the loads lie
WITH arrived AS (
    SELECT slice, name, window_start, window_s, sum(arrivals)::BIGINT AS arrivals
    FROM frontier_windows
    GROUP BY ALL
)
SELECT
    slice, name, window_start, window_s, arrivals,
    coalesce(c.replicas, 0) AS replicas,
    arrivals + coalesce(c.of_others, 0) AS carried,
    carried / window_s / greatest(c.replicas, 1) AS load_rps,
    floor(20 * log10(load_rps) + 1e-9)::INTEGER AS load_bin,
    dense_rank() OVER (ORDER BY slice, name, load_bin)::INTEGER AS bin_id
FROM arrived
LEFT JOIN frontier_carried AS c USING (slice, name, window_start)
