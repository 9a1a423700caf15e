-- description: Offered load per replica of each route and pool in each window, and the bin that it lies in
-- grain: slice, name, window_start
-- reads: frontier_carried, frontier_windows
-- unit: carried are the arrivals of every route (or pool) on the replicas of this one, in replica_time_s; twenty bins to a decade of load_rps, each 12 % wide, wherever the loads lie
WITH arrived AS (
    SELECT
        slice, name, window_start, window_s,
        sum(arrivals)::BIGINT AS arrivals,
        (epoch_us(max(last_arrived_at)) - epoch_us(min(first_arrived_at))) / 1e6 AS span_s,
        CASE WHEN count(declared_rps) = count(*) AND min(declared_rps) = max(declared_rps) THEN min(declared_rps) END AS declared_rps
    FROM frontier_windows
    GROUP BY ALL
),
offered AS (
    SELECT
        slice, name, window_start, window_s, arrivals, declared_rps,
        coalesce(c.replicas, 0) AS replicas,
        arrivals + coalesce(c.of_others, 0) AS carried_arrivals,
        -- a run of a sweep may begin and end within a window: its rate is that between its first and last arrival
        carried_arrivals * CASE WHEN declared_rps IS NULL THEN 1 ELSE (arrivals - 1) / arrivals END AS carried,
        greatest(c.replicas, 1) * CASE WHEN declared_rps IS NULL THEN window_s ELSE span_s END AS replica_time_s
    FROM arrived
    LEFT JOIN frontier_carried AS c USING (slice, name, window_start)
),
-- of a sweep the load is that of all windows with the same declared rate
loaded AS (
    SELECT
        *,
        coalesce(
            CASE
                WHEN declared_rps IS NULL THEN carried / replica_time_s
                ELSE ratio(sum(carried ORDER BY window_start) OVER sweep, sum(replica_time_s ORDER BY window_start) OVER sweep)
            END,
            declared_rps / greatest(replicas, 1)) AS load_rps
    FROM offered
    WINDOW sweep AS (PARTITION BY slice, name, declared_rps)
)
SELECT
    *,
    floor(20 * log10(load_rps) + 1e-9)::INTEGER AS load_bin,
    dense_rank() OVER (ORDER BY slice, name, load_bin)::INTEGER AS bin_id
FROM loaded
