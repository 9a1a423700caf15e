-- description: Each load bin: its load, outcomes, cost per accepted request and how far its goodput ratio can be trusted
-- grain: slice, name, load_bin
-- reads: frontier_costs, frontier_gates, frontier_loads, frontier_points, frontier_strata
-- unit: effective_n: the number of independent requests that would give goodput_ratio the same variance
WITH totals AS (
    SELECT slice, name, load_bin, ratio(sum(estimate ORDER BY window_start), sum(ended)) AS ratio_of_all
    FROM frontier_points
    GROUP BY ALL
),
labels AS (
    SELECT slice, name, load_bin, sum(label_variance ORDER BY workload) AS label_variance FROM frontier_strata GROUP BY ALL
),
summed AS (
    SELECT
        slice, name, load_bin,
        count(*) AS windows,
        sum(arrivals)::BIGINT AS arrivals,
        sum(carried ORDER BY window_start) AS carried,
        sum(ended)::BIGINT AS ended,
        sum(estimate ORDER BY window_start) AS estimate,
        sum(replica_time_s ORDER BY window_start) AS replica_time_s,
        CASE WHEN min(replicas) > 0 THEN sum(replicas * window_s) / sum(window_s) END AS replicas,
        sum(succeeded)::BIGINT AS succeeded,
        -- outcomes within a window are correlated: the spread between windows gives the effective sample size
        sum((estimate - ended * ratio_of_all) ** 2 ORDER BY window_start) * count(*) / nullif(count(*) - 1, 0) AS spread,
        ratio(sum(cost_usd ORDER BY window_start), sum(accepted ORDER BY window_start) FILTER (WHERE cost_usd IS NOT NULL))
            AS cost_per_accepted_usd
    FROM frontier_loads
    JOIN frontier_points USING (slice, name, load_bin, window_start)
    JOIN totals USING (slice, name, load_bin)
    LEFT JOIN frontier_costs USING (slice, name, window_start)
    GROUP BY slice, name, load_bin
)
SELECT
    * EXCLUDE (carried, spread, label_variance, p99_gates_hold),
    carried / replica_time_s AS load_rps,
    ratio(estimate, ended) AS goodput_ratio,
    effective_size(goodput_ratio, ended, greatest(coalesce(spread, 0), estimate * (1 - goodput_ratio)) + label_variance)
        AS effective_n,
    coalesce(p99_gates_hold, true) AS p99_gates_hold -- without a gate there is none to break
FROM summed
JOIN labels USING (slice, name, load_bin)
LEFT JOIN frontier_gates USING (slice, name, load_bin)
