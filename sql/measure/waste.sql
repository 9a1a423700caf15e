-- description: Where dollars, GPU time and tokens went, by window, slice and bucket (docs/semantics.md#money)
-- grain: window_start, window_s, slice, workload, model, pool, route, bucket
-- reads: cost_ledger, grains, slices
-- unit: usd is NULL where no cost is known; `unpriced` counts the entries without a known cost
-- identity: M: over buckets the rows of a slice add up to what the resources cost in the window
-- Errors that all rows share add up. Of the rest, errors of one replica in one window of the ledger have one cause and add
-- up too; those of different replicas or windows are independent.
WITH causes AS (
    SELECT
        epoch_us(window_start) // 1000000 AS step_s, replica,
        coalesce(workload, 'unknown') AS workload, coalesce(model, 'unknown') AS model,
        coalesce(pool, 'unknown') AS pool, coalesce(route, 'unknown') AS route,
        bucket,
        sum(usd::DECIMAL(38, 18)) AS usd,
        sum(gpu_s::DECIMAL(38, 12)) AS gpu_s,
        sum(tokens::DECIMAL(38, 12)) AS tokens,
        count(*) FILTER (WHERE usd IS NULL AND (gpu_s > 0 OR tokens > 0)) AS unpriced,
        bool_or(estimated) AS estimated,
        CASE WHEN bool_or(usd IS NOT NULL AND error_usd IS NULL) THEN NULL ELSE sum(abs(error_usd)::DECIMAL(38, 18))::DOUBLE END AS error_usd,
        sum(abs(common_error_usd)::DECIMAL(38, 18))::DOUBLE AS common_usd
    FROM cost_ledger
    GROUP BY ALL
),
finest_buckets AS (
    SELECT
        step_s, workload, model, pool, route, bucket,
        sum(usd) AS usd, sum(gpu_s) AS gpu_s, sum(tokens) AS tokens, sum(unpriced) AS unpriced, bool_or(estimated) AS estimated,
        bool_and(usd IS NULL OR error_usd IS NOT NULL) AS is_bounded,
        sum(((error_usd - common_usd) ** 2)::DECIMAL(38, 18)) AS variance,
        sum(common_usd::DECIMAL(38, 18)) AS common_usd
    FROM causes
    GROUP BY ALL
),
windowed AS (
    SELECT
        g.window_s, step_s // g.window_s * g.window_s AS start_s, s.slice,
        CASE WHEN s.by_workload THEN workload END AS workload,
        CASE WHEN s.by_model THEN model END AS model,
        CASE WHEN s.by_pool THEN pool END AS pool,
        CASE WHEN s.by_route THEN route END AS route,
        bucket,
        sum(usd)::DOUBLE AS usd, coalesce(sum(gpu_s), 0)::DOUBLE AS gpu_s, coalesce(sum(tokens), 0)::DOUBLE AS tokens,
        sum(unpriced)::BIGINT AS unpriced, bool_or(estimated) AS estimated,
        CASE WHEN bool_and(is_bounded) THEN sum(common_usd)::DOUBLE + sqrt(sum(variance)::DOUBLE) END AS error_usd
    FROM finest_buckets
    CROSS JOIN grains AS g
    CROSS JOIN slices AS s
    GROUP BY ALL
)
SELECT
    make_timestamptz(start_s * 1000000) AS window_start,
    * EXCLUDE (start_s),
    ratio(usd, sum(usd::DECIMAL(38, 18)) OVER (PARTITION BY window_s, start_s, slice, workload, model, pool, route)::DOUBLE)
        AS share_ratio
FROM windowed
