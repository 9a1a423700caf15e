-- description: How many requests each gate judged in each window at the finest dimensions, and by value of each slice by tenant or attribute; how many failed it, and how many failed it alone
-- grain: window_s, start_s, cut, slice_value, workload, model, pool, route, gate
-- reads: crowded_windows, grains, kept_codes, kept_values, step_gates
SELECT
    g.window_s, s.step_start_s // g.window_s * g.window_s AS start_s,
    s.cut, kept_value(s.slice_value, c.cut IS NOT NULL, k.cut IS NOT NULL) AS slice_value,
    s.workload,
    kept_name(s.model, n.models, other := n.other_model) AS model,
    kept_name(s.pool, n.pools, other := n.other_pool) AS pool,
    kept_name(s.route, n.routes, other := n.other_route) AS route,
    s.gate,
    sum(gated)::BIGINT AS gated,
    sum(failing)::BIGINT AS failing,
    sum(only_failing)::BIGINT AS only_failing
FROM step_gates AS s
CROSS JOIN grains AS g
LEFT JOIN crowded_windows AS c
    ON c.cut = s.cut AND c.window_s = g.window_s AND c.start_s = s.step_start_s // g.window_s * g.window_s
LEFT JOIN kept_values AS k
    ON k.cut = c.cut AND k.window_s = c.window_s AND k.start_s = c.start_s AND k.slice_value = s.slice_value
LEFT JOIN kept_codes AS n ON n.window_s = g.window_s AND n.start_s = s.step_start_s // g.window_s * g.window_s
GROUP BY ALL
