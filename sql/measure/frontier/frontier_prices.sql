-- description: What an accepted request costs at each load, and between which ends it lies in windows like these
-- grain: slice, name, load_bin
-- reads: frontier_costs, frontier_loads
-- unit: labels count together over the windows of a load; moments: sums of squares and products about the means
WITH placed AS (
    SELECT
        slice, name, load_bin, c.* EXCLUDE (slice, name),
        sum(need) OVER of_workload AS all_need, sum(labelled) OVER of_workload AS all_labelled, sum(passed) OVER of_workload AS all_passed
    FROM frontier_loads
    JOIN frontier_costs AS c USING (slice, name, window_start)
    WHERE is_known
    WINDOW of_workload AS (PARTITION BY slice, name, load_bin, workload)
),
ruled AS (
    SELECT *, is_sample AND all_labelled > 0 AS is_estimated FROM placed
),
windows AS (
    SELECT
        slice, name, load_bin, window_start,
        sum(cost_usd ORDER BY workload) AS cost_usd,
        sum(accepted_together(is_estimated, must_pass, need, labelled, passed, all_need, all_labelled, all_passed) ORDER BY workload)
            AS accepted
    FROM ruled
    GROUP BY ALL
),
samples AS (
    SELECT
        slice, name, load_bin, workload, is_estimated, must_pass, all_need,
        sum(need - labelled) AS open,
        CASE WHEN is_estimated THEN all_passed / all_labelled END AS pass_rate,
        wilson(pass_rate, all_labelled) AS share
    FROM ruled
    GROUP BY ALL
),
left_open AS (
    SELECT
        slice, name, load_bin,
        sqrt(coalesce(sum((all_need * greatest(pass_rate - share.low, share.high - pass_rate)) ** 2 ORDER BY workload)
            FILTER (WHERE is_estimated), 0)) AS sampled,
        coalesce(sum(open) FILTER (WHERE NOT is_estimated AND NOT must_pass), 0)::DOUBLE AS open_below,
        coalesce(sum(open) FILTER (WHERE NOT is_estimated AND must_pass), 0)::DOUBLE AS open_above
    FROM samples
    GROUP BY ALL
),
worked AS (
    SELECT
        slice, name, load_bin,
        {
            units: count(*), cost_usd: sum(cost_usd ORDER BY window_start), accepted: sum(accepted ORDER BY window_start),
            moments: {
                xx: regr_sxx(cost_usd, accepted ORDER BY window_start), xy: regr_sxy(cost_usd, accepted ORDER BY window_start),
                yy: regr_syy(cost_usd, accepted ORDER BY window_start)
            },
            sampled: any_value(sampled), open_below: any_value(open_below), open_above: any_value(open_above)
        } AS work
    FROM windows
    JOIN left_open USING (slice, name, load_bin)
    GROUP BY ALL
),
priced AS (
    SELECT * EXCLUDE (work), unit_cost(work, ratio(work.cost_usd, work.accepted)) AS cost FROM worked
),
kept AS (
    SELECT
        slice, name, load_bin,
        bool_or(is_paid) AS has_cost, bool_or(is_known) AS has_estimate
    FROM frontier_loads
    JOIN frontier_costs USING (slice, name, window_start)
    GROUP BY ALL
)
SELECT
    slice, name, load_bin,
    cost.value AS cost_per_accepted_usd,
    cost.low AS cost_per_accepted_ci_low_usd,
    CASE WHEN cost.low IS NOT NULL THEN cost.high END AS cost_per_accepted_ci_high_usd,
    CASE
        WHEN cost.low IS NOT NULL THEN NULL
        WHEN NOT has_cost THEN 'cost_unknown'
        WHEN NOT has_estimate THEN 'labels_not_drawn'
        WHEN cost.value IS NULL THEN 'nothing_accepted'
        ELSE 'single_window'
    END AS no_cost_interval
FROM kept
LEFT JOIN priced USING (slice, name, load_bin)
