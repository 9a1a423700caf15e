-- description: How many requests each gate judged in each window at the finest dimensions, and by value of each slice by tenant or attribute; how many failed it, and how many failed it alone
-- grain: window_s, start_s, cut, slice_value, workload, model, pool, route, gate
-- reads: crowded_windows, cut_requests, grains, kept_codes, kept_values, measured_range, window_options
-- Requests that fared alike at every gate are counted first: a few outcomes stand for all requests, whatever gates there are.
WITH outcomes AS (
    SELECT
        ended_s // step_s * step_s AS step_start_s, cut, slice_value, workload, model, pool, route,
        COLUMNS('^pass_'), sole_failing_gate,
        count(*) AS requests
    FROM cut_requests
    CROSS JOIN measured_range
    CROSS JOIN window_options
    WHERE ended_s >= from_s AND ended_s < until_s
    GROUP BY ALL
),
judged AS (
    SELECT * EXCLUDE (pass_gate), substr(pass_gate, len('pass_') + 1) AS gate
    FROM outcomes
    UNPIVOT INCLUDE NULLS (passed FOR pass_gate IN (COLUMNS('^pass_')))
),
stepped AS (
    SELECT
        step_start_s, cut, slice_value, workload, model, pool, route, gate,
        sum(CASE WHEN passed IS NOT NULL THEN requests ELSE 0 END) AS gated,
        sum(CASE WHEN NOT passed THEN requests ELSE 0 END) AS failing,
        sum(CASE WHEN sole_failing_gate = gate THEN requests ELSE 0 END) AS only_failing
    FROM judged
    GROUP BY ALL
    -- a gate that is set but was never measured gates no request, and may still be all that keeps one from being accepted
    HAVING gated > 0 OR only_failing > 0
)
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
FROM stepped AS s
CROSS JOIN grains AS g
LEFT JOIN crowded_windows AS c
    ON c.cut = s.cut AND c.window_s = g.window_s AND c.start_s = s.step_start_s // g.window_s * g.window_s
LEFT JOIN kept_values AS k
    ON k.cut = c.cut AND k.window_s = c.window_s AND k.start_s = c.start_s AND k.slice_value = s.slice_value
LEFT JOIN kept_codes AS n ON n.window_s = g.window_s AND n.start_s = s.step_start_s // g.window_s * g.window_s
GROUP BY ALL
