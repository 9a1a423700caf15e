-- description: Which part of each workload's unlabelled cost counts as accepted, by its own labels in each row of `waste` (docs/semantics.md#unlabelled-cost)
-- grain: slice, slice_value, window_s, start_s, k_workload, k_model, k_pool, k_route, workload
-- reads: cost_strata, ended_sessions, workload_rules
-- unit: share, with its 95 % interval low to high; the rest counts as rejected. NULL: nothing shows it, it stays unlabelled, from none to all
-- unit: shift, deviation, df: where the share lies by the labels of all workloads of the row together, beside `share`; NULL where a bound
-- As tokens are divided in estimated_strata and estimated_windows, with dollars for tokens.
-- A workload whose credits exceed its cost divides them by the same labels, with credits for cost.
WITH netted AS (
    SELECT
        *,
        sum(accepted_usd + rejected_usd + unlabelled_usd ORDER BY model, pool, route, part_s) OVER (
            PARTITION BY slice, slice_value, window_s, start_s, k_workload, k_model, k_pool, k_route, workload) AS net_usd
    FROM cost_strata
),
turned AS (
    SELECT * REPLACE (
        CASE WHEN net_usd < 0 THEN -accepted_usd ELSE accepted_usd END AS accepted_usd,
        CASE WHEN net_usd < 0 THEN -rejected_usd ELSE rejected_usd END AS rejected_usd,
        CASE WHEN net_usd < 0 THEN -unlabelled_usd ELSE unlabelled_usd END AS unlabelled_usd)
    FROM netted
),
ruled AS (
    SELECT
        s.* EXCLUDE (net_usd),
        w.unlabelled AS policy,
        w.unlabelled = 'estimate' AND w.sampling <> 'none' AS is_estimated,
        w.sampling,
        accepted_usd + rejected_usd AS labelled_usd,
        ratio(accepted_usd, labelled_usd) AS cost_rate,
        is_estimated AND accepted_usd >= 0 AND rejected_usd >= 0 AND labelled_usd > 0 AND labelled >= CASE WHEN differs THEN 2 ELSE 1 END AS sampled,
        sum(need) OVER of_workload AS all_need,
        sum(labelled) OVER of_workload AS all_labelled,
        ratio(sum(passed) OVER of_workload, all_labelled) AS rate,
        row_number() OVER (of_workload ORDER BY model, pool, route, part_s) AS nth
    FROM turned AS s
    JOIN (SELECT workload, has_quality, unlabelled, sampling FROM workload_rules) AS w USING (workload)
    WHERE w.has_quality
    WINDOW of_workload AS (PARTITION BY slice, slice_value, window_s, start_s, k_workload, k_model, k_pool, k_route, workload)
),
rated AS (
    SELECT
        *,
        sum(accepted_usd ORDER BY nth) OVER of_workload AS all_accepted_usd,
        sum(rejected_usd ORDER BY nth) OVER of_workload AS all_rejected_usd
    FROM ruled
    WINDOW of_workload AS (PARTITION BY slice, slice_value, window_s, start_s, k_workload, k_model, k_pool, k_route, workload)
),
-- materialized: inlined, its expressions are planned over and over
clustered AS MATERIALIZED (
    SELECT
        r.*,
        labels_by_session(sampling, all_labelled / all_need, c.pairs, c.labelled_pairs) AS by_session,
        alike_in_sessions(rate, c.labelled_pairs, c.passed_pairs, c.both_passed_pairs) AS alike,
        c.followers,
        labelled_usd + greatest(0, unlabelled_usd) AS weight,
        unequal_within(
            all_requests, weight, all_squares, accepted_requests, accepted_usd, rejected_requests, rejected_usd) AS unequal,
        outcome_weights(accepted_requests, accepted_usd, accepted_squares, weight / all_requests, unequal) AS passed_weights,
        outcome_weights(rejected_requests, rejected_usd, rejected_squares, weight / all_requests, unequal) AS failed_weights,
        CASE WHEN all_accepted_usd >= 0 AND all_rejected_usd >= 0 THEN ratio(all_accepted_usd, all_accepted_usd + all_rejected_usd) END
            AS all_rate,
        labelled_usd + unlabelled_usd AS usd
    FROM rated AS r
    LEFT JOIN ended_sessions AS c
        ON c.slice = r.slice AND c.slice_value IS NOT DISTINCT FROM r.slice_value
        AND c.window_s = r.window_s AND c.start_s = r.start_s AND c.workload = r.workload
        AND c.k_workload IS NOT DISTINCT FROM r.k_workload AND c.k_model IS NOT DISTINCT FROM r.k_model
        AND c.k_pool IS NOT DISTINCT FROM r.k_pool AND c.k_route IS NOT DISTINCT FROM r.k_route
),
drawn AS (
    SELECT *, label_draws(all_labelled, followers, by_session) AS draws FROM clustered
),
designed AS (
    SELECT *, design_effect(rate, all_labelled, by_session, alike, draws) AS effect FROM drawn
),
sized AS (
    SELECT
        *,
        (accepted_requests + rejected_requests) * drawn_size(labelled, need) / labelled / effect AS size,
        CASE WHEN sampled THEN weight_effect(cost_rate, passed_weights, failed_weights) END AS cost_effect
    FROM designed
),
shared AS (
    SELECT
        *,
        sampled AND labelled < need AND all_rate IS NOT NULL AS is_uncertain,
        accepted_usd + unlabelled_usd * CASE WHEN sampled THEN cost_rate ELSE all_rate END AS point,
        CASE WHEN sampled THEN wilson(cost_rate, size / cost_effect) END AS near,
        accepted_usd + greatest(0, unlabelled_usd) AS upper
    FROM sized
),
within AS (
    SELECT
        *, CASE WHEN sampled THEN weighted_wilson(cost_rate, size, cost_effect, near, passed_weights, failed_weights) END AS cost_share
    FROM shared
),
bounded AS (
    SELECT
        *,
        CASE WHEN sampled THEN least(point, greatest(accepted_usd, usd * cost_share.low)) ELSE accepted_usd END AS low,
        CASE WHEN sampled THEN greatest(point, least(upper, usd * cost_share.high)) ELSE upper END AS high
    FROM within
),
expanded AS (
    SELECT
        *,
        count_if(is_uncertain) OVER of_workload AS uncertain,
        count(DISTINCT workload) FILTER (WHERE is_uncertain) OVER of_row AS uncertain_workloads,
        sum(labelled) FILTER (WHERE is_uncertain) OVER of_workload AS uncertain_labelled,
        ratio(
            sum(need / labelled * accepted_usd ORDER BY nth) FILTER (WHERE is_uncertain) OVER of_workload,
            sum(need / labelled * labelled_usd ORDER BY nth) FILTER (WHERE is_uncertain) OVER of_workload) AS workload_rate,
        ratio(
            sum(need / labelled * accepted_usd ORDER BY workload, nth) FILTER (WHERE is_uncertain) OVER of_row,
            sum(need / labelled * labelled_usd ORDER BY workload, nth) FILTER (WHERE is_uncertain) OVER of_row) AS row_rate
    FROM bounded
    WINDOW of_workload AS (PARTITION BY slice, slice_value, window_s, start_s, k_workload, k_model, k_pool, k_route, workload),
        of_row AS (PARTITION BY slice, slice_value, window_s, start_s, k_workload, k_model, k_pool, k_route)
),
-- within the workload, and over all workloads of the row
sloped AS (
    SELECT
        *,
        CASE WHEN is_uncertain AND uncertain > 1 THEN shared_slope(cost_rate, labelled, workload_rate, uncertain) END AS slope,
        CASE WHEN is_uncertain THEN shared_slope(workload_rate, uncertain_labelled, row_rate, uncertain_workloads) END AS wide_slope,
        accepted_requests + rejected_requests AS requests,
        slope_squares(slope, requests, accepted_usd, rejected_usd, accepted_squares, rejected_squares) AS squares,
        slope_squares(wide_slope, requests, accepted_usd, rejected_usd, accepted_squares, rejected_squares) AS wide_squares,
        coalesce(expanded_weight(slope, need, labelled, usd, accepted_usd, rejected_usd) - point, 0) AS shift,
        expanded_weight(wide_slope, need, labelled, usd, accepted_usd, rejected_usd) AS wide_point,
        nullif((usd / need) ** 2, 0) AS mean_square
    FROM expanded
),
spread AS (
    SELECT
        *,
        ratio(
            sum(squares / mean_square ORDER BY nth) FILTER (WHERE is_uncertain) OVER of_workload,
            sum(labelled - 1) FILTER (WHERE is_uncertain) OVER of_workload) AS spread,
        ratio(
            sum(wide_squares / mean_square ORDER BY workload, nth) FILTER (WHERE is_uncertain) OVER of_row,
            sum(labelled - 1) FILTER (WHERE is_uncertain) OVER of_row) AS wide_spread,
        expanded_variance(need, labelled, usd, squares, spread, effect) AS variance,
        CASE WHEN is_uncertain THEN expanded_variance(need, labelled, usd, wide_squares, wide_spread, effect) END AS wide_variance
    FROM sloped
    WINDOW of_workload AS (PARTITION BY slice, slice_value, window_s, start_s, k_workload, k_model, k_pool, k_route, workload),
        of_row AS (PARTITION BY slice, slice_value, window_s, start_s, k_workload, k_model, k_pool, k_route)
),
summed AS (
    SELECT
        slice, slice_value, window_s, start_s, k_workload, k_model, k_pool, k_route, workload,
        any_value(policy) AS policy, any_value(is_estimated) AS is_estimated,
        any_value(all_rate) AS all_rate, any_value(all_accepted_usd) AS accepted_usd,
        sum(unlabelled_usd ORDER BY nth) AS unlabelled_usd,
        sum(wide_point ORDER BY nth) AS wide,
        sum(wide_variance ORDER BY nth) AS variance_of_wide,
        ratio(variance_of_wide ** 2, sum(wide_variance ** 2 / greatest(1, labelled - 1) ORDER BY nth)) AS df,
        strata_sums(
            is_uncertain, usd, point + shift, variance, variance ** 2 / greatest(1, labelled - 1), labelled,
            low + shift, high + shift, accepted_usd, upper, nth) AS sums
    FROM spread
    GROUP BY ALL
),
totalled AS (
    SELECT *, strata_total(sums) AS total FROM summed
)
SELECT
    slice, slice_value, window_s, start_s, k_workload, k_model, k_pool, k_route, workload,
    CASE
        WHEN policy = 'pass' THEN 1.0
        WHEN policy = 'fail' THEN 0.0
        WHEN is_estimated AND all_rate IS NOT NULL AND unlabelled_usd > 0
            THEN least(1, greatest(0, (total.value - accepted_usd) / unlabelled_usd))
        WHEN is_estimated THEN all_rate
    END AS share,
    policy <> 'estimate' OR share IS NULL AS is_bound,
    CASE WHEN NOT is_bound AND unlabelled_usd > 0 THEN least(share, greatest(0, (total.low - accepted_usd) / unlabelled_usd)) ELSE 0 END AS low,
    CASE WHEN NOT is_bound AND unlabelled_usd > 0 THEN greatest(share, least(1, (total.high - accepted_usd) / unlabelled_usd)) ELSE 1 END AS high,
    CASE WHEN NOT is_bound AND unlabelled_usd > 0 THEN (wide - sums.estimate) / unlabelled_usd END AS shift,
    CASE WHEN NOT is_bound AND unlabelled_usd > 0 THEN sqrt(variance_of_wide) / unlabelled_usd END AS deviation,
    df
FROM totalled
