-- description: Percentiles of the attempts of each replica, and of those of each pool and model by what their cache found
-- grain: window_s, start_s, replica, pool, model, quarter
-- reads: ended_attempts, grains, large_partition
-- Of a large partition nothing is held: see counted_attempt_quantiles.
-- unit: q_ttft_hit, q_ttft_miss, q_queue, q_tpot are of a replica, q_ttft of a quarter
WITH of_replicas AS (
    SELECT
        window_s, ended_s // window_s * window_s AS start_s, replica,
        quantile_cont(ttft_s, [0.5, 0.95, 0.99]) FILTER (WHERE is_hit) AS q_ttft_hit,
        quantile_cont(ttft_s, [0.5, 0.95, 0.99]) FILTER (WHERE NOT is_hit) AS q_ttft_miss,
        quantile_cont(queue_s, [0.5, 0.95, 0.99]) AS q_queue,
        quantile_cont(tpot_s, [0.5, 0.95, 0.99]) AS q_tpot
    FROM ended_attempts
    CROSS JOIN grains
    CROSS JOIN large_partition
    WHERE replica IS NOT NULL AND NOT is_large
    GROUP BY ALL
),
of_quarters AS (
    SELECT
        window_s, ended_s // window_s * window_s AS start_s, coalesce(pool, 'unknown') AS pool, coalesce(model, 'unknown') AS model, quarter,
        quantile_cont(ttft_s, [0.5, 0.95, 0.99]) AS q_ttft
    FROM ended_attempts
    CROSS JOIN grains
    CROSS JOIN large_partition
    WHERE quarter IS NOT NULL AND NOT is_large
    GROUP BY ALL
)
SELECT * FROM of_replicas UNION ALL BY NAME SELECT * FROM of_quarters
