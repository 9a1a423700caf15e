-- description: As `exact_attempt_quantiles`, from how many attempts took how long: for more than are held at once
-- grain: window_s, start_s, replica, pool, model, quarter
-- reads: grains, step_attempt_latencies
WITH counted AS (
    SELECT
        window_s, step_start_s // window_s * window_s AS start_s,
        replica, NULL::VARCHAR AS pool, NULL::VARCHAR AS model, NULL::INTEGER AS quarter,
        CASE WHEN metric <> 'ttft' THEN metric WHEN is_hit THEN 'ttft_hit' WHEN NOT is_hit THEN 'ttft_miss' END AS metric,
        units, sum(attempts) AS attempts
    FROM step_attempt_latencies
    CROSS JOIN grains
    WHERE replica IS NOT NULL
    GROUP BY ALL
    UNION ALL
    SELECT
        window_s, step_start_s // window_s * window_s,
        NULL, coalesce(pool, 'unknown'), coalesce(model, 'unknown'), quarter, metric, units, sum(attempts)
    FROM step_attempt_latencies
    CROSS JOIN grains
    WHERE quarter IS NOT NULL AND metric = 'ttft'
    GROUP BY ALL
),
ranked AS (
    SELECT
        * EXCLUDE (attempts),
        sum(attempts) OVER (of_metric ORDER BY units) AS up_to,
        sum(attempts) OVER of_metric::DOUBLE AS total
    FROM counted
    WHERE metric IS NOT NULL
    WINDOW of_metric AS (PARTITION BY window_s, start_s, replica, pool, model, quarter, metric)
),
of_metrics AS (
    SELECT
        * EXCLUDE (units, up_to, total),
        counted_percentiles(units * latency_unit_s(split_part(metric, '_', 1)), up_to, total) AS latencies_s
    FROM ranked
    GROUP BY ALL
)
SELECT
    * EXCLUDE (metric, latencies_s),
    any_value(latencies_s) FILTER (WHERE metric = 'ttft_hit') AS q_ttft_hit,
    any_value(latencies_s) FILTER (WHERE metric = 'ttft_miss') AS q_ttft_miss,
    any_value(latencies_s) FILTER (WHERE metric = 'queue') AS q_queue,
    any_value(latencies_s) FILTER (WHERE metric = 'tpot') AS q_tpot,
    any_value(latencies_s) FILTER (WHERE metric = 'ttft') AS q_ttft
FROM of_metrics
GROUP BY ALL
