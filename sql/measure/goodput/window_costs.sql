-- description: What each window of the finest slice cost, for `goodput`
-- grain: window_s, start_s, workload, model, pool, route
SELECT
    window_s,
    epoch_us(window_start) // 1000000 AS start_s,
    workload::workload_word AS workload, model::model_word AS model, pool::pool_word AS pool, route::route_word AS route,
    sum(usd::DECIMAL(38, 18)) AS usd,
    sum(usd::DECIMAL(38, 18)) FILTER (WHERE bucket NOT IN ('accepted', 'unlabelled')) AS wasted_usd,
    sum(gpu_s) > 0 AS live
FROM waste
WHERE slice = 'finest'
GROUP BY ALL
