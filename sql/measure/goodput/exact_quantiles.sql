-- description: Percentiles of each window by the dimensions in `quantile_slice`: the fewest that divide the requests as a slice does; run once for each combination
-- grain: cut, quantile_by_workload, quantile_by_model, quantile_by_pool, quantile_by_route, window_s, start_s, k_workload, k_model, k_pool, k_route, k_value
-- reads: crowded_windows, grains, kept_codes, kept_values, measured_range, measured_requests, quantile_slice
SELECT
    c.*,
    g.window_s,
    r.ended_s // g.window_s * g.window_s AS start_s,
    CASE WHEN c.quantile_by_workload THEN r.workload END AS k_workload,
    CASE WHEN c.quantile_by_model THEN kept_name(r.model, n.models, other := n.other_model) END AS k_model,
    CASE WHEN c.quantile_by_pool THEN kept_name(r.pool, n.pools, other := n.other_pool) END AS k_pool,
    CASE WHEN c.quantile_by_route THEN kept_name(r.route, n.routes, other := n.other_route) END AS k_route,
    kept_value(r.cut_values[c.cut], d.cut IS NOT NULL, k.cut IS NOT NULL) AS k_value,
    quantile_cont(ttft_s, [0.5, 0.95, 0.99]) AS q_ttft,
    quantile_cont(tpot_s, [0.5, 0.95, 0.99]) AS q_tpot,
    quantile_cont(e2e_s, [0.5, 0.95, 0.99]) AS q_e2e,
    quantile_cont(queue_s, [0.5, 0.95, 0.99]) AS q_queue
FROM measured_requests AS r
CROSS JOIN quantile_slice AS c
CROSS JOIN grains AS g
CROSS JOIN measured_range AS p
LEFT JOIN crowded_windows AS d
    ON d.cut = c.cut AND d.window_s = g.window_s AND d.start_s = r.ended_s // g.window_s * g.window_s
LEFT JOIN kept_values AS k
    ON k.cut = d.cut AND k.window_s = d.window_s AND k.start_s = d.start_s AND k.slice_value = r.cut_values[c.cut]
LEFT JOIN kept_codes AS n ON n.window_s = g.window_s AND n.start_s = r.ended_s // g.window_s * g.window_s
WHERE r.ended_s >= p.from_s AND r.ended_s < p.until_s
GROUP BY ALL
