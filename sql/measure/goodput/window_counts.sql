-- description: The counts of each window at the finest dimensions, and by workload and value of each slice by tenant or attribute: those of every slice are sums of these
-- grain: window_s, start_s, cut, slice_value, workload, model, pool, route
-- reads: crowded_windows, grains, kept_codes, kept_values, spanned_windows, step_counts, window_costs
WITH windowed AS (
    SELECT window_s, step_start_s // window_s * window_s AS start_s, * EXCLUDE (window_s, step_start_s)
    FROM step_counts
    CROSS JOIN grains
    UNION ALL BY NAME
    -- a window in which work was only in flight had live replicas: it exists, with nothing offered
    SELECT *, 1 AS seen FROM spanned_windows
    UNION ALL BY NAME
    -- costs of a window in which nothing ended belong to it all the same, those that nobody carries among them
    SELECT window_s, start_s, cut, slice_value, workload, model, pool, route, is_live::BIGINT AS live
    FROM window_costs
    WHERE is_live OR has_money
),
kept AS (
    SELECT w.* REPLACE (
        kept_value(w.slice_value, c.cut IS NOT NULL, k.cut IS NOT NULL) AS slice_value,
        kept_name(w.model, n.models, other := n.other_model) AS model,
        kept_name(w.pool, n.pools, other := n.other_pool) AS pool,
        kept_name(w.route, n.routes, other := n.other_route) AS route
    )
    FROM windowed AS w
    LEFT JOIN kept_codes AS n ON n.window_s = w.window_s AND n.start_s = w.start_s
    LEFT JOIN crowded_windows AS c ON c.cut = w.cut AND c.window_s = w.window_s AND c.start_s = w.start_s
    LEFT JOIN kept_values AS k
        ON k.cut = w.cut AND k.window_s = w.window_s AND k.start_s = w.start_s AND k.slice_value = w.slice_value
)
SELECT
    window_s, start_s, cut, slice_value, workload, model, pool, route,
    coalesce(sum(COLUMNS(* EXCLUDE (window_s, start_s, cut, slice_value, workload, model, pool, route))), 0)::BIGINT
FROM kept
GROUP BY ALL
