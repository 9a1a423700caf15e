-- description: As `exact_quantiles`, from how many requests took how long: for more requests than are held at once
-- grain: cut, quantile_by_workload, quantile_by_model, quantile_by_pool, quantile_by_route, window_s, start_s, k_workload, k_model, k_pool, k_route, k_value
-- reads: crowded_windows, grains, kept_codes, kept_values, quantile_slice, step_latencies
WITH counted AS (
    SELECT
        c.*,
        g.window_s,
        l.step_start_s // g.window_s * g.window_s AS start_s,
        CASE WHEN c.quantile_by_workload THEN l.workload END AS k_workload,
        CASE WHEN c.quantile_by_model THEN kept_name(l.model, n.models, other := n.other_model) END AS k_model,
        CASE WHEN c.quantile_by_pool THEN kept_name(l.pool, n.pools, other := n.other_pool) END AS k_pool,
        CASE WHEN c.quantile_by_route THEN kept_name(l.route, n.routes, other := n.other_route) END AS k_route,
        kept_value(l.slice_value, d.cut IS NOT NULL, k.cut IS NOT NULL) AS k_value,
        l.metric, l.units, sum(l.requests) AS requests
    FROM step_latencies AS l
    JOIN quantile_slice AS c USING (cut)
    CROSS JOIN grains AS g
    LEFT JOIN crowded_windows AS d
        ON d.cut = c.cut AND d.window_s = g.window_s AND d.start_s = l.step_start_s // g.window_s * g.window_s
    LEFT JOIN kept_values AS k
        ON k.cut = d.cut AND k.window_s = d.window_s AND k.start_s = d.start_s AND k.slice_value = l.slice_value
    LEFT JOIN kept_codes AS n ON n.window_s = g.window_s AND n.start_s = l.step_start_s // g.window_s * g.window_s
    GROUP BY ALL
),
ranked AS (
    SELECT
        * EXCLUDE (requests),
        sum(requests) OVER (of_metric ORDER BY units) AS up_to,
        sum(requests) OVER of_metric::DOUBLE AS total
    FROM counted
    WINDOW of_metric AS (PARTITION BY window_s, start_s, k_workload, k_model, k_pool, k_route, k_value, metric)
),
of_metrics AS (
    SELECT * EXCLUDE (units, up_to, total), counted_percentiles(units * latency_unit_s(metric), up_to, total) AS latencies_s
    FROM ranked
    GROUP BY ALL
)
SELECT
    * EXCLUDE (metric, latencies_s),
    any_value(latencies_s) FILTER (WHERE metric = 'ttft') AS q_ttft,
    any_value(latencies_s) FILTER (WHERE metric = 'tpot') AS q_tpot,
    any_value(latencies_s) FILTER (WHERE metric = 'e2e') AS q_e2e,
    any_value(latencies_s) FILTER (WHERE metric = 'queue') AS q_queue
FROM of_metrics
GROUP BY ALL
