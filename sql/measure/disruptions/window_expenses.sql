-- description: What the time of each replica cost in each base window of each pool, and of the fleet as a whole
-- grain: pool (NULL: the fleet), start_s, of_pool, replica
-- reads: disruption_options, paid_time
WITH base AS (
    SELECT
        epoch_us(window_start) // 1000000 // base_s * base_s AS start_s, pool AS of_pool, replica,
        sum_usd(own_usd) AS own_usd, sum_usd(pool_usd) AS pool_usd, sum_steady(gpu_s) AS gpu_s
    FROM paid_time
    CROSS JOIN disruption_options
    GROUP BY ALL
)
SELECT of_pool AS pool, * FROM base
UNION ALL
SELECT NULL AS pool, * FROM base
