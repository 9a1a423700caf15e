-- description: Where dollars, GPU time and tokens went, by window, slice and bucket (docs/semantics.md#money)
-- grain: window_start, window_s, slice, slice_value, workload, model, pool, route, bucket
-- reads: carried_idle, kept_names, shared_overhead, slices, unlabelled_shares, unloaded_costs
-- unit: usd is NULL where no cost is known; `unpriced` counts the entries without a known cost
-- identity: M: over buckets the rows of a slice add up to what the resources cost in the window; rows of a slice to those of `overall`
-- Errors that all rows share add up; the rest, of different replicas or steps, is independent. What labels leave open adds up within
-- a workload, which has one share of accepted cost, and in quadrature over workloads; what no label shows adds up linearly. Shares of
-- few labels lean one way: over several workloads the interval is around what all their labels say together.
WITH carried AS (
    SELECT
        window_s, start_s, cut, slice_value, workload, model, pool, route, bucket,
        usd::DECIMAL(38, 18) AS usd, CASE WHEN bucket <> 'unattributed' THEN usd::DECIMAL(38, 18) ELSE usd * 0 END AS direct_usd,
        gpu_s::DECIMAL(38, 12) AS gpu_s, tokens, unpriced, estimated, is_bounded, variance::DOUBLE AS variance, common_usd::DOUBLE AS common_usd
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
-- unlabelled cost in three parts: what it was measured as, and what of it counts as accepted and as rejected
parts AS (
    SELECT
        l.* EXCLUDE (bucket),
        unnest([
            {bucket: l.bucket, measured: 1, part: CASE WHEN s.share IS NULL THEN 1.0 ELSE 0.0 END, below: 0.0, above: 0.0, shift: 0.0},
            {
                bucket: 'accepted', measured: 0, part: coalesce(s.share, 0),
                below: coalesce(s.share - s.low, 0), above: coalesce(s.high - s.share, 1), shift: coalesce(s.shift, 0)
            },
            {
                bucket: 'rejected', measured: 0, part: coalesce(1 - s.share, 0),
                below: coalesce(s.high - s.share, 0), above: coalesce(s.share - s.low, 1), shift: coalesce(-s.shift, 0)
            }
        ], recursive := true),
        s.is_bound, s.deviation, s.df
    FROM loaded AS l
    JOIN unlabelled_shares AS s USING (window_s, start_s, workload)
    WHERE l.bucket = 'unlabelled' AND l.usd <> 0
),
divided AS (
    SELECT
        * EXCLUDE (measured, part) REPLACE (
            (usd * part)::DECIMAL(38, 18) AS usd, (direct_usd * part)::DECIMAL(38, 18) AS direct_usd,
            (gpu_s * measured)::DECIMAL(38, 12) AS gpu_s, tokens * measured AS tokens, unpriced * measured AS unpriced,
            estimated OR measured = 0 AS estimated,
            variance * part ** 2 AS variance, common_usd * part AS common_usd,
            abs(usd) * below AS below, abs(usd) * above AS above, abs(usd) * shift AS shift,
            -- what is divided is in neither bucket any more: of it nothing is open
            abs(usd) * deviation * (1 - measured) AS deviation
        ),
        abs(usd) * part AS least_open, abs(usd) * (1 - part) AS most_open,
        (usd * measured)::DECIMAL(38, 18) AS measured_usd,
        is_bounded OR measured = 0 AS is_measure_bounded,
        variance * measured AS measured_variance, common_usd * measured AS measured_common_usd
    FROM parts
),
entries AS (
    SELECT
        *, usd AS measured_usd, is_bounded AS is_measure_bounded, variance AS measured_variance, common_usd AS measured_common_usd
    FROM loaded AS l
    WHERE NOT coalesce(l.bucket = 'unlabelled' AND l.usd <> 0
        AND (l.window_s, l.start_s, l.workload) IN (SELECT (window_s, start_s, workload) FROM unlabelled_shares), false)
    UNION ALL BY NAME
    SELECT * EXCLUDE (below, above, shift, deviation, df, least_open, most_open, is_bound) FROM divided
),
windowed AS (
    SELECT
        window_s, start_s, s.slice, slice_value,
        CASE WHEN s.by_workload THEN workload END AS workload,
        CASE WHEN s.by_model THEN model END AS model,
        CASE WHEN s.by_pool THEN pool END AS pool,
        CASE WHEN s.by_route THEN route END AS route,
        bucket,
        sum(usd)::DOUBLE AS usd, sum(measured_usd)::DOUBLE AS measured_usd,
        sum(CASE WHEN usd IS NOT NULL THEN direct_usd END)::DOUBLE AS direct_usd,
        coalesce(sum(gpu_s), 0)::DOUBLE AS gpu_s, coalesce(sum(tokens), 0)::DOUBLE AS tokens,
        coalesce(sum(unpriced), 0)::BIGINT AS unpriced, coalesce(bool_or(estimated), false) AS estimated,
        CASE WHEN coalesce(bool_and(is_measure_bounded), true)
            THEN coalesce(sum(measured_common_usd::DECIMAL(38, 18)), 0)::DOUBLE
                + sqrt(coalesce(sum(measured_variance::DECIMAL(38, 22)), 0)::DOUBLE) END AS error_usd,
        CASE WHEN coalesce(bool_and(is_bounded), true)
            THEN coalesce(sum(common_usd::DECIMAL(38, 18)), 0)::DOUBLE + sqrt(coalesce(sum(variance::DECIMAL(38, 22)), 0)::DOUBLE) END
            AS divided_error_usd
    FROM entries
    JOIN slices AS s USING (cut)
    GROUP BY ALL
),
open_of_workloads AS (
    SELECT
        window_s, start_s, s.slice, slice_value, workload AS of_workload,
        CASE WHEN s.by_workload THEN workload END AS workload,
        CASE WHEN s.by_model THEN model END AS model,
        CASE WHEN s.by_pool THEN pool END AS pool,
        CASE WHEN s.by_route THEN route END AS route,
        bucket, is_bound, any_value(df) AS df,
        sum_usd(below) AS below, sum_usd(above) AS above, sum_usd(shift) AS shift, sum_usd(deviation) AS deviation,
        sum_usd(least_open) AS least_open, sum_usd(most_open) AS most_open
    FROM divided
    JOIN slices AS s USING (cut)
    GROUP BY ALL
),
added AS (
    SELECT
        window_s, start_s, slice, slice_value, workload, model, pool, route, bucket,
        count_if(deviation > 0) AS workloads,
        coalesce(sqrt(sum_usd(CASE WHEN NOT is_bound THEN below ** 2 END)), 0) AS below,
        coalesce(sqrt(sum_usd(CASE WHEN NOT is_bound THEN above ** 2 END)), 0) AS above,
        sum_usd(CASE WHEN NOT is_bound THEN shift END) AS shift,
        sum_usd(deviation ** 2) AS variance,
        student_beyond(ratio(variance ** 2, sum(deviation ** 4 / df ORDER BY of_workload)), 0.025) * sqrt(variance) AS half,
        sum_usd(CASE WHEN NOT is_bound THEN least_open END) AS least_open,
        sum_usd(CASE WHEN NOT is_bound THEN most_open END) AS most_open,
        coalesce(sum_usd(CASE WHEN is_bound THEN below END), 0) AS bound_below,
        coalesce(sum_usd(CASE WHEN is_bound THEN above END), 0) AS bound_above
    FROM open_of_workloads
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
        w.* EXCLUDE (start_s, divided_error_usd),
        -- a bucket that nothing was credited to cost no less than nothing
        at_least(usd - sqrt(divided_error_usd ** 2 + coalesce(o.below, 0) ** 2) - coalesce(o.bound_below, 0), least(usd, 0)) AS ci_low_usd,
        usd + sqrt(divided_error_usd ** 2 + coalesce(o.above, 0) ** 2) + coalesce(o.bound_above, 0) AS ci_high_usd,
        sum(usd::DECIMAL(38, 18)) OVER (
            PARTITION BY w.window_s, w.start_s, w.slice, w.slice_value, w.workload, w.model, w.pool, w.route)::DOUBLE AS total_usd
    FROM windowed AS w
    LEFT JOIN left_open AS o
        ON o.window_s = w.window_s AND o.start_s = w.start_s AND o.slice = w.slice AND o.bucket = w.bucket
        AND o.slice_value IS NOT DISTINCT FROM w.slice_value AND o.workload IS NOT DISTINCT FROM w.workload
        AND o.model IS NOT DISTINCT FROM w.model AND o.pool IS NOT DISTINCT FROM w.pool AND o.route IS NOT DISTINCT FROM w.route
)
SELECT
    * EXCLUDE (total_usd),
    CASE WHEN usd IS NULL THEN 'cost_unknown' WHEN ci_low_usd IS NULL THEN 'error_unknown' END AS no_interval,
    ratio(usd, total_usd) AS share_ratio,
    ratio(ci_low_usd, total_usd) AS share_ci_low_ratio,
    ratio(ci_high_usd, total_usd) AS share_ci_high_ratio
FROM within
