-- description: Where dollars, GPU time and tokens went, by window, slice and bucket (docs/semantics.md#money)
-- grain: window_start, window_s, slice, slice_value, workload, model, pool, route, bucket
-- reads: carried_idle, shared_overhead, slices, unloaded_costs
-- unit: usd is NULL where no cost is known; `unpriced` counts the entries without a known cost
-- identity: M: over buckets the rows of a slice add up to what the resources cost in the window; rows of a slice to those of `overall`
-- Errors that all rows share add up; the rest, of different replicas or steps, is independent.
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
windowed AS (
    SELECT
        window_s, start_s, s.slice, slice_value,
        CASE WHEN s.by_workload THEN workload END AS workload,
        CASE WHEN s.by_model THEN model END AS model,
        CASE WHEN s.by_pool THEN pool END AS pool,
        CASE WHEN s.by_route THEN route END AS route,
        bucket,
        sum(usd)::DOUBLE AS usd,
        sum(CASE WHEN usd IS NOT NULL THEN direct_usd END)::DOUBLE AS direct_usd,
        coalesce(sum(gpu_s), 0)::DOUBLE AS gpu_s, coalesce(sum(tokens), 0)::DOUBLE AS tokens,
        coalesce(sum(unpriced), 0)::BIGINT AS unpriced, coalesce(bool_or(estimated), false) AS estimated,
        CASE WHEN coalesce(bool_and(is_bounded), true)
            THEN coalesce(sum(common_usd::DECIMAL(38, 18)), 0)::DOUBLE + sqrt(coalesce(sum(variance::DECIMAL(38, 18)), 0)::DOUBLE) END
            AS error_usd
    FROM loaded
    JOIN slices AS s USING (cut)
    GROUP BY ALL
)
SELECT
    make_timestamptz(start_s * 1000000) AS window_start,
    * EXCLUDE (start_s),
    ratio(usd, sum(usd::DECIMAL(38, 18)) OVER (PARTITION BY window_s, start_s, slice, slice_value, workload, model, pool, route)::DOUBLE)
        AS share_ratio
FROM windowed
