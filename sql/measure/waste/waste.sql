-- description: Where dollars, GPU time and tokens went, by window, slice and bucket (docs/semantics.md#money)
-- grain: window_start, window_s, slice, slice_value, workload, model, pool, route, bucket
-- reads: carried_idle, kept_names, shared_overhead, slices, unlabelled_shares, unloaded_costs
-- unit: usd is NULL where no cost is known; `unpriced` counts the entries without a known cost, which usd is without: it has no upper end there
-- identity: M: over buckets the rows of a slice add up to what the resources cost in the window; rows of a slice to those of `overall`, by bucket in `measured_usd`
-- Errors that all rows share add up; the rest, of different replicas or steps, is independent. What labels leave open adds up in
-- quadrature over the workloads of a row, each of which has a share of accepted cost there; what no label shows adds up linearly. Shares
-- of few labels lean one way: over several workloads the interval is around what all their labels say together.
WITH carried AS (
    SELECT
        window_s, start_s, cut, slice_value, workload, model, pool, route, bucket,
        usd::DECIMAL(38, 18) AS usd, CASE WHEN bucket <> 'unattributed' THEN usd::DECIMAL(38, 18) ELSE usd * 0 END AS direct_usd,
        queue_late_usd, retries_late_usd, prefill_late_usd, work_late_usd, gpu_s::DECIMAL(38, 12) AS gpu_s, tokens, unpriced, estimated, is_bounded, variance::DOUBLE AS variance, common_usd::DOUBLE AS common_usd
    FROM unloaded_costs
    WHERE bucket NOT IN ('idle', 'overhead')
    UNION ALL BY NAME
    SELECT * REPLACE (usd::DECIMAL(38, 18) AS usd, gpu_s::DECIMAL(38, 12) AS gpu_s), 0 AS direct_usd FROM carried_idle
    UNION ALL BY NAME
    SELECT * REPLACE (usd::DECIMAL(38, 18) AS usd), 0 AS direct_usd FROM shared_overhead
),
loaded AS (
    SELECT c.* REPLACE (
        kept_name(c.model, n.models) AS model, kept_name(c.pool, n.pools) AS pool, kept_name(c.route, n.routes) AS route
    )
    FROM carried AS c
    LEFT JOIN kept_names AS n ON n.window_s = c.window_s AND n.start_s = c.start_s
),
of_workloads AS (
    SELECT
        s.slice, slice_value, window_s, start_s,
        CASE WHEN s.by_workload THEN workload END AS k_workload,
        CASE WHEN s.by_model THEN model END AS k_model,
        CASE WHEN s.by_pool THEN pool END AS k_pool,
        CASE WHEN s.by_route THEN route END AS k_route,
        workload, bucket,
        sum(usd) AS usd, sum(CASE WHEN usd IS NOT NULL THEN direct_usd END) AS direct_usd,
        sum(queue_late_usd) AS queue_late_usd, sum(retries_late_usd) AS retries_late_usd, sum(prefill_late_usd) AS prefill_late_usd, sum(work_late_usd) AS work_late_usd,
        coalesce(sum(gpu_s), 0) AS gpu_s, coalesce(sum(tokens), 0) AS tokens, coalesce(sum(unpriced), 0)::BIGINT AS unpriced,
        coalesce(bool_or(estimated), false) AS estimated, coalesce(bool_and(is_bounded), true) AS is_bounded,
        coalesce(sum(variance::DECIMAL(38, 22)), 0)::DOUBLE AS variance, coalesce(sum(common_usd::DECIMAL(38, 18)), 0)::DOUBLE AS common_usd
    FROM loaded
    JOIN slices AS s USING (cut)
    GROUP BY ALL
),
-- unlabelled cost in three parts: what it was measured as, and what of it counts as accepted and as rejected
parts AS (
    SELECT
        w.* EXCLUDE (bucket),
        unnest(CASE WHEN s.slice IS NULL THEN [
            {bucket: w.bucket, measured: 1, part: 1.0, below: NULL::DOUBLE, above: NULL::DOUBLE, shift: NULL::DOUBLE}
        ] ELSE [
            {
                bucket: w.bucket, measured: 1, part: CASE WHEN s.share IS NULL THEN 1.0 ELSE 0.0 END,
                below: NULL::DOUBLE, above: NULL::DOUBLE, shift: NULL::DOUBLE
            },
            {
                bucket: 'accepted', measured: 0, part: coalesce(s.share, 0),
                below: coalesce(s.share - s.low, 0), above: coalesce(s.high - s.share, 1), shift: coalesce(s.shift, 0)
            },
            {
                bucket: 'rejected', measured: 0, part: coalesce(1 - s.share, 0),
                below: coalesce(s.high - s.share, 0), above: coalesce(s.share - s.low, 1), shift: coalesce(-s.shift, 0)
            }
        ] END, recursive := true),
        s.is_bound, s.deviation, s.df
    FROM of_workloads AS w
    LEFT JOIN unlabelled_shares AS s
        ON w.bucket = 'unlabelled' AND w.usd <> 0
        AND s.slice = w.slice AND s.slice_value IS NOT DISTINCT FROM w.slice_value
        AND s.window_s = w.window_s AND s.start_s = w.start_s AND s.workload = w.workload
        AND s.k_workload IS NOT DISTINCT FROM w.k_workload AND s.k_model IS NOT DISTINCT FROM w.k_model
        AND s.k_pool IS NOT DISTINCT FROM w.k_pool AND s.k_route IS NOT DISTINCT FROM w.k_route
),
divided AS (
    SELECT
        * EXCLUDE (part, variance, common_usd, is_bounded) REPLACE (
            (usd * part)::DECIMAL(38, 18) AS usd, (direct_usd * part)::DECIMAL(38, 18) AS direct_usd,
            gpu_s * measured AS gpu_s, tokens * measured AS tokens, unpriced * measured AS unpriced,
            estimated OR measured = 0 AS estimated,
            -- the more of a credit a bucket has, the lower it lies
            abs(usd) * CASE WHEN usd < 0 THEN above ELSE below END AS below,
            abs(usd) * CASE WHEN usd < 0 THEN below ELSE above END AS above,
            usd * shift AS shift,
            -- what is divided is in neither bucket any more: of it nothing is open
            abs(usd) * deviation * (1 - measured) AS deviation
        ),
        abs(usd) * CASE WHEN usd < 0 THEN 1 - part ELSE part END AS least_open,
        abs(usd) * CASE WHEN usd < 0 THEN part ELSE 1 - part END AS most_open,
        usd < 0 AS is_credit,
        usd * measured AS measured_usd,
        {is_bounded: is_bounded, variance: variance * part ** 2, common_usd: common_usd * part} AS doubt,
        {is_bounded: is_bounded OR measured = 0, variance: variance * measured, common_usd: common_usd * measured} AS measured_doubt
    FROM parts
),
windowed AS (
    SELECT
        slice, slice_value, window_s, start_s, k_workload, k_model, k_pool, k_route, bucket,
        sum(usd)::DOUBLE AS usd, sum(measured_usd)::DOUBLE AS measured_usd, sum(direct_usd)::DOUBLE AS direct_usd,
        sum(queue_late_usd)::DOUBLE AS queue_late_usd, sum(retries_late_usd)::DOUBLE AS retries_late_usd,
        sum(prefill_late_usd)::DOUBLE AS prefill_late_usd, sum(work_late_usd)::DOUBLE AS work_late_usd,
        sum(gpu_s)::DOUBLE AS gpu_s, sum(tokens)::DOUBLE AS tokens, sum(unpriced)::BIGINT AS unpriced, bool_or(estimated) AS estimated,
        error_of(measured_doubt) AS error_usd, error_of(doubt) AS divided_error_usd
    FROM divided
    GROUP BY ALL
),
added AS (
    SELECT
        slice, slice_value, window_s, start_s, k_workload, k_model, k_pool, k_route, bucket,
        count_if(deviation > 0) AS workloads, coalesce(bool_or(is_credit), false) AS is_credited,
        coalesce(sqrt(sum_usd(CASE WHEN NOT is_bound THEN below ** 2 END)), 0) AS below,
        coalesce(sqrt(sum_usd(CASE WHEN NOT is_bound THEN above ** 2 END)), 0) AS above,
        sum_usd(CASE WHEN NOT is_bound THEN shift END) AS shift,
        sum_usd(deviation ** 2) AS variance,
        student_beyond(ratio(variance ** 2, sum(deviation ** 4 / df ORDER BY workload)), 0.025) * sqrt(variance) AS half,
        sum_usd(CASE WHEN NOT is_bound THEN least_open END) AS least_open,
        sum_usd(CASE WHEN NOT is_bound THEN most_open END) AS most_open,
        coalesce(sum_usd(CASE WHEN is_bound THEN below END), 0) AS bound_below,
        coalesce(sum_usd(CASE WHEN is_bound THEN above END), 0) AS bound_above
    FROM divided
    WHERE measured = 0
    GROUP BY ALL
),
left_open AS (
    SELECT * REPLACE (
        CASE WHEN workloads > 1 THEN least(least_open, greatest(0, greatest(below, half) - shift)) ELSE below END AS below,
        CASE WHEN workloads > 1 THEN least(most_open, greatest(0, greatest(above, half) + shift)) ELSE above END AS above
    )
    FROM added
),
within AS (
    SELECT
        make_timestamptz(w.start_s * 1000000) AS window_start,
        w.window_s, w.slice, w.slice_value,
        w.k_workload AS workload, w.k_model AS model, w.k_pool AS pool, w.k_route AS route, w.bucket,
        w.usd, w.measured_usd, w.direct_usd,
        CASE WHEN w.bucket = 'slow' AND w.usd IS NOT NULL THEN coalesce(w.queue_late_usd, 0) END AS queue_late_usd,
        CASE WHEN w.bucket = 'slow' AND w.usd IS NOT NULL THEN coalesce(w.retries_late_usd, 0) END AS retries_late_usd,
        CASE WHEN w.bucket = 'slow' AND w.usd IS NOT NULL THEN coalesce(w.prefill_late_usd, 0) END AS prefill_late_usd,
        CASE WHEN w.bucket = 'slow' AND w.usd IS NOT NULL THEN coalesce(w.work_late_usd, 0) END AS work_late_usd,
        w.gpu_s, w.tokens, w.unpriced, w.estimated, w.error_usd,
        -- a bucket that nothing was credited to cost no less than nothing
        at_least(
            usd - sqrt(divided_error_usd ** 2 + coalesce(o.below, 0) ** 2) - coalesce(o.bound_below, 0),
            CASE WHEN usd >= 0 AND NOT coalesce(o.is_credited, false) THEN 0 END) AS ci_low_usd,
        usd + sqrt(divided_error_usd ** 2 + coalesce(o.above, 0) ** 2) + coalesce(o.bound_above, 0) AS high_usd,
        sum(usd::DECIMAL(38, 18)) OVER of_row::DOUBLE AS total_usd,
        sum(w.unpriced) OVER of_row AS all_unpriced,
        -- of what has neither a label nor a price nobody knows which of the two it adds to
        w.unpriced + CASE WHEN w.bucket IN ('accepted', 'rejected')
            THEN coalesce(sum(w.unpriced) FILTER (WHERE w.bucket = 'unlabelled') OVER of_row, 0) ELSE 0 END AS may_add
    FROM windowed AS w
    LEFT JOIN left_open AS o
        ON o.window_s = w.window_s AND o.start_s = w.start_s AND o.slice = w.slice AND o.bucket = w.bucket
        AND o.slice_value IS NOT DISTINCT FROM w.slice_value AND o.k_workload IS NOT DISTINCT FROM w.k_workload
        AND o.k_model IS NOT DISTINCT FROM w.k_model AND o.k_pool IS NOT DISTINCT FROM w.k_pool
        AND o.k_route IS NOT DISTINCT FROM w.k_route
    WINDOW of_row AS (PARTITION BY w.window_s, w.start_s, w.slice, w.slice_value, w.k_workload, w.k_model, w.k_pool, w.k_route)
)
SELECT
    * EXCLUDE (high_usd, total_usd, all_unpriced, may_add),
    if_all_priced(high_usd, may_add) AS ci_high_usd,
    CASE
        WHEN usd IS NULL THEN 'cost_unknown'
        WHEN ci_low_usd IS NULL THEN 'error_unknown'
        WHEN may_add > 0 THEN 'work_unpriced'
    END AS no_interval,
    ratio(usd, total_usd) AS share_ratio,
    if_all_priced(ratio(ci_low_usd, total_usd), all_unpriced) AS share_ci_low_ratio,
    if_all_priced(ratio(high_usd, total_usd), all_unpriced) AS share_ci_high_ratio,
    CASE
        WHEN usd IS NULL THEN 'cost_unknown'
        WHEN share_ratio IS NULL THEN 'nothing_spent'
        WHEN all_unpriced > 0 THEN 'work_unpriced'
        WHEN ci_low_usd IS NULL THEN 'error_unknown'
    END AS no_share_interval
FROM within
