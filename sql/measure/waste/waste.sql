-- description: Where dollars, GPU time and tokens went, by window, slice and bucket (docs/semantics.md#money)
-- grain: window_start, window_s, slice, slice_value, workload, model, pool, route, bucket
-- reads: carried_idle, shared_overhead, slices, unlabelled_shares, unloaded_costs
-- unit: usd is NULL where no cost is known; `unpriced` counts the entries without a known cost
-- identity: M: over buckets the rows of a slice add up to what the resources cost in the window; rows of a slice to those of `overall`
-- Errors that all rows share add up; the rest, of different replicas or steps, is independent. What labels leave open adds up within
-- a workload, which has one share of accepted cost, and in quadrature over workloads.
WITH loaded AS (
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
-- unlabelled cost in three parts: what of it is not estimated, and what counts as accepted and as rejected
parts AS (
    SELECT
        l.* EXCLUDE (bucket),
        unnest([
            {bucket: l.bucket, measured: 1, part: CASE WHEN s.share IS NULL THEN 1.0 ELSE 0.0 END, below: 0.0, above: 0.0},
            {bucket: 'accepted', measured: 0, part: s.share, below: s.share - s.low, above: s.high - s.share},
            {bucket: 'rejected', measured: 0, part: 1 - s.share, below: s.high - s.share, above: s.share - s.low}
        ], recursive := true)
    FROM loaded AS l
    LEFT JOIN unlabelled_shares AS s
        ON l.bucket = 'unlabelled' AND s.window_s = l.window_s AND s.start_s = l.start_s AND s.workload = l.workload
),
divided AS (
    SELECT
        * EXCLUDE (measured, part) REPLACE (
            (usd * part)::DECIMAL(38, 18) AS usd, (direct_usd * part)::DECIMAL(38, 18) AS direct_usd,
            gpu_s * measured AS gpu_s, tokens * measured AS tokens, unpriced * measured AS unpriced,
            estimated OR measured = 0 AS estimated,
            variance * part ** 2 AS variance, common_usd * part AS common_usd,
            abs(usd) * below AS below, abs(usd) * above AS above
        ),
        usd * measured AS measured_usd,
        is_bounded OR measured = 0 AS is_measure_bounded,
        variance * measured AS measured_variance, common_usd * measured AS measured_common_usd
    FROM parts
    WHERE measured = 1 OR (part IS NOT NULL AND usd <> 0)
),
of_workloads AS (
    SELECT
        window_s, start_s, s.slice, slice_value,
        CASE WHEN s.by_workload THEN workload END AS k_workload,
        CASE WHEN s.by_model THEN model END AS model,
        CASE WHEN s.by_pool THEN pool END AS pool,
        CASE WHEN s.by_route THEN route END AS route,
        bucket, workload AS stratum,
        sum(usd) AS usd, sum(measured_usd) AS measured_usd,
        sum(CASE WHEN usd IS NOT NULL THEN direct_usd END) AS direct_usd,
        sum(gpu_s) AS gpu_s, sum(tokens) AS tokens, sum(unpriced)::BIGINT AS unpriced, bool_or(estimated) AS estimated,
        bool_and(is_bounded) AS is_bounded,
        sum(variance::DECIMAL(38, 18)) AS variance, sum(common_usd::DECIMAL(38, 18)) AS common_usd,
        bool_and(is_measure_bounded) AS is_measure_bounded,
        sum(measured_variance::DECIMAL(38, 18)) AS measured_variance, sum(measured_common_usd::DECIMAL(38, 18)) AS measured_common_usd,
        sum_usd(below) AS below, sum_usd(above) AS above
    FROM divided
    JOIN slices AS s USING (cut)
    GROUP BY ALL
),
windowed AS (
    SELECT
        window_s, start_s, slice, slice_value, k_workload AS workload, model, pool, route, bucket,
        sum(usd)::DOUBLE AS usd, sum(measured_usd)::DOUBLE AS measured_usd, sum(direct_usd)::DOUBLE AS direct_usd,
        coalesce(sum(gpu_s), 0)::DOUBLE AS gpu_s, coalesce(sum(tokens), 0)::DOUBLE AS tokens,
        coalesce(sum(unpriced), 0)::BIGINT AS unpriced, coalesce(bool_or(estimated), false) AS estimated,
        CASE WHEN coalesce(bool_and(is_measure_bounded), true)
            THEN coalesce(sum(measured_common_usd), 0)::DOUBLE + sqrt(coalesce(sum(measured_variance), 0)::DOUBLE) END AS error_usd,
        CASE WHEN coalesce(bool_and(is_bounded), true)
            THEN coalesce(sum(common_usd), 0)::DOUBLE + sqrt(coalesce(sum(variance), 0)::DOUBLE) END AS divided_error_usd,
        coalesce(sum_usd(below ** 2), 0) AS below_squares, coalesce(sum_usd(above ** 2), 0) AS above_squares
    FROM of_workloads
    GROUP BY ALL
)
SELECT
    make_timestamptz(start_s * 1000000) AS window_start,
    * EXCLUDE (start_s, below_squares, above_squares, divided_error_usd),
    usd - sqrt(divided_error_usd ** 2 + below_squares) AS usd_ci_low,
    usd + sqrt(divided_error_usd ** 2 + above_squares) AS usd_ci_high,
    ratio(usd, sum(usd::DECIMAL(38, 18)) OVER (PARTITION BY window_s, start_s, slice, slice_value, workload, model, pool, route)::DOUBLE)
        AS share_ratio
FROM windowed
