-- description: In which windows work was under way or money was spent at the finest dimensions, and by value of each slice by tenant or attribute
-- grain: window_s, start_s, cut, slice_value, workload, model, pool, route
-- reads: slices, waste
SELECT
    window_s,
    epoch_us(window_start) // 1000000 AS start_s,
    cut, slice_value,
    workload::workload_code AS workload, model::model_code AS model, pool::pool_code AS pool, route::route_code AS route,
    sum(gpu_s) > 0 AS is_live,
    bool_or(usd <> 0) AS has_money
FROM waste
JOIN slices USING (slice)
WHERE slice = 'finest' OR cut > 0
GROUP BY ALL
