-- description: As `exact_quantiles`, from how many requests took how long: for more requests than are held at once
-- grain: cut, quantile_by_workload, quantile_by_model, quantile_by_pool, quantile_by_route, window_s, start_s, k_workload, k_model, k_pool, k_route, k_value
-- reads: crowded_windows, grains, kept_codes, kept_values, quantile_slice, step_latencies
-- Interpolated between the two requests beside each quantile, as DuckDB's quantile_cont does it.
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
        sum(requests) OVER of_metric AS total
    FROM counted
    WINDOW of_metric AS (
        PARTITION BY window_s, start_s, k_workload, k_model, k_pool, k_route, k_value, metric)
),
ranks AS (
    SELECT * EXCLUDE (total), quantile * (total - 1) AS rank
    FROM ranked
    CROSS JOIN (SELECT unnest([0.5, 0.95, 0.99]) AS quantile)
),
beside AS (
    SELECT
        * EXCLUDE (units, up_to),
        min(units) FILTER (WHERE up_to > floor(rank)) AS below,
        min(units) FILTER (WHERE up_to > ceil(rank)) AS above
    FROM ranks
    GROUP BY ALL
),
interpolated AS (
    SELECT
        * EXCLUDE (rank, below, above),
        (below + (above - below) * (rank - floor(rank))) * latency_unit_s(metric) AS latency_s
    FROM beside
)
SELECT
    * EXCLUDE (metric, quantile, latency_s),
    list(latency_s ORDER BY quantile) FILTER (WHERE metric = 'ttft') AS q_ttft,
    list(latency_s ORDER BY quantile) FILTER (WHERE metric = 'tpot') AS q_tpot,
    list(latency_s ORDER BY quantile) FILTER (WHERE metric = 'e2e') AS q_e2e,
    list(latency_s ORDER BY quantile) FILTER (WHERE metric = 'queue') AS q_queue
FROM interpolated
GROUP BY ALL
