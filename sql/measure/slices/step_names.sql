-- description: How many requests ended in each step by model, pool and route, in the longest step that divides all windows
-- grain: step_start_s, model, pool, route
-- reads: longest_step, measured_range, requests
SELECT epoch_us(ended_at) // 1000000 // step_s * step_s AS step_start_s, model, pool, route, count(*) AS requests
FROM requests
CROSS JOIN longest_step
CROSS JOIN measured_range
WHERE verdict <> 'in_flight' AND epoch_us(ended_at) // 1000000 >= from_s AND epoch_us(ended_at) // 1000000 < until_s
GROUP BY ALL
