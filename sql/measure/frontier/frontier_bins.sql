-- description: Each load bin: its load, outcomes, cost per accepted request and how far its goodput ratio can be trusted
-- grain: slice, name, load_bin
-- reads: frontier_gates, frontier_loads, frontier_points, frontier_prices, frontier_strata
-- unit: goodput_ratio_ci_*: Wilson's interval at as many independent requests as the windows' spread is worth; NULL: nothing shows how windows vary
WITH totals AS (
    SELECT slice, name, load_bin, ratio(sum(estimate ORDER BY window_start), sum(ended)) AS ratio_of_all
    FROM frontier_points
    GROUP BY ALL
),
labels AS (
    SELECT
        slice, name, load_bin,
        sum(label_variance ORDER BY workload) AS label_variance,
        sum(open_below)::BIGINT AS open_below, sum(open_above)::BIGINT AS open_above,
        coalesce(ratio(sum(labelled) FILTER (WHERE policy = 'estimate'), sum(need) FILTER (WHERE policy = 'estimate' AND labelled > 0)), 1)
            AS label_rate
    FROM frontier_strata
    GROUP BY ALL
),
summed AS (
    SELECT
        slice, name, load_bin,
        count(*) AS windows,
        sum(arrivals)::BIGINT AS arrivals,
        sum(ended)::BIGINT AS ended,
        sum(estimate ORDER BY window_start) AS estimate,
        sum(replica_time_s ORDER BY window_start) AS replica_time_s,
        -- of a sweep of single requests no time shows the rate: what was declared is the load
        coalesce(ratio(sum(carried ORDER BY window_start), sum(replica_time_s ORDER BY window_start)), avg(load_rps ORDER BY window_start))
            AS load_rps,
        CASE WHEN min(replicas) > 0 THEN sum(replicas * window_s) / sum(window_s) END AS replicas,
        sum(succeeded)::BIGINT AS succeeded,
        -- outcomes within a window are correlated: the spread between windows gives the effective sample size
        sum((estimate - ended * ratio_of_all) ** 2 ORDER BY window_start) * count(*) / nullif(count(*) - 1, 0) AS spread
    FROM frontier_loads
    JOIN frontier_points USING (slice, name, load_bin, window_start)
    JOIN totals USING (slice, name, load_bin)
    GROUP BY slice, name, load_bin
),
-- how much the ratios of windows of one load vary, over all loads of the route or pool
varied AS (
    SELECT
        *,
        estimate * (1 - ratio(estimate, ended)) AS chance,
        -- beyond what as many independent requests would
        greatest(0, sum((windows - 1) * windows * (coalesce(spread, 0) - chance) / ended ** 2 ORDER BY load_bin) OVER of_all
            / nullif(sum(windows - 1) OVER of_all, 0)) * ended ** 2 / windows + chance AS borrowed,
        sum(windows - 1) OVER of_all AS df
    FROM summed
    WINDOW of_all AS (PARTITION BY slice, name ORDER BY load_bin ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)
),
-- the square of half an interval's width: by the windows' spread with Student's t; of one or two windows by that of all loads
widened AS (
    SELECT
        v.* EXCLUDE (spread, borrowed, df),
        label_variance, label_rate, open_below, open_above,
        CASE
            WHEN windows >= 3 THEN spread * student(windows - 1) ** 2
            WHEN df > 0 THEN borrowed * student(df) ** 2
        END AS reach
    FROM varied AS v
    JOIN labels USING (slice, name, load_bin)
),
sized AS (
    SELECT
        * EXCLUDE (chance, label_variance, label_rate, reach, p99_gates_hold),
        ratio(estimate, ended) AS goodput_ratio,
        CASE
            -- where all passed, or none, windows show no spread of their own
            WHEN chance = 0 THEN ended * label_rate
            WHEN reach > 0 THEN effective_size(goodput_ratio, ended, reach / 1.959963984540054 ** 2)
            WHEN reach = 0 THEN effective_size(goodput_ratio, ended, chance + label_variance)
        END AS effective_n,
        coalesce(p99_gates_hold, true) AS p99_gates_hold -- without a gate there is none to break
    FROM widened
    LEFT JOIN frontier_gates USING (slice, name, load_bin)
)
SELECT
    * EXCLUDE (effective_n, open_below, open_above, no_cost_interval),
    -- what has no label adds its bounds
    CASE WHEN effective_n > 0 THEN greatest(0, wilson(goodput_ratio, effective_n).low - open_below / ended) END AS goodput_ratio_ci_low,
    CASE WHEN effective_n > 0 THEN least(1, wilson(goodput_ratio, effective_n).high + open_above / ended) END AS goodput_ratio_ci_high,
    CASE
        WHEN goodput_ratio IS NULL THEN 'nothing_ended'
        WHEN effective_n > 0 IS NOT true THEN 'single_windows'
    END AS no_interval,
    coalesce(no_cost_interval, CASE WHEN cost_per_accepted_usd IS NULL THEN 'cost_unknown' END) AS no_cost_interval
FROM sized
LEFT JOIN frontier_prices USING (slice, name, load_bin)
