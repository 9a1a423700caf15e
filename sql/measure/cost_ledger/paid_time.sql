-- description: What the time of each replica cost in each step, busy and idle, by what is charged for it and for its pool
-- grain: window_start, pool, replica (NULL: what was paid for the pool while none of its replicas was seen)
-- reads: pool_idle, replica_costs
-- unit: time without a known cost is left out
WITH paid AS (
    SELECT step_s, pool, replica, own_usd, pool_usd, added_usd, gpu_s FROM replica_costs WHERE usd IS NOT NULL
    UNION ALL
    SELECT step_s, pool, NULL, 0, usd, 0, 0 FROM pool_idle
)
SELECT
    step_s // 3600 AS epoch_hour, make_timestamptz(step_s * 1000000) AS window_start, coalesce(pool, 'unknown') AS pool, replica,
    sum_usd(own_usd) AS own_usd, sum_usd(pool_usd) AS pool_usd, sum_usd(added_usd) AS added_usd, sum_steady(gpu_s) AS gpu_s
FROM paid
GROUP BY ALL
