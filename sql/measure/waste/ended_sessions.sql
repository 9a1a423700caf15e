-- description: How labels and passes go together within sessions, of each workload in each row of `waste`: sums over pairs of requests of one session
-- grain: slice, slice_value, window_s, start_s, k_workload, k_model, k_pool, k_route, workload
-- reads: asked_sessions, crowded_windows, kept_names, kept_values, slices
-- unit: as in label_clusters
WITH sessions AS (
    SELECT
        s.slice, kept_value(c.slice_value, f.cut IS NOT NULL, k.cut IS NOT NULL) AS slice_value, c.window_s, c.start_s,
        CASE WHEN s.by_workload THEN c.workload END AS k_workload,
        CASE WHEN s.by_model THEN kept_name(c.model, n.models) END AS k_model,
        CASE WHEN s.by_pool THEN kept_name(c.pool, n.pools) END AS k_pool,
        CASE WHEN s.by_route THEN kept_name(c.route, n.routes) END AS k_route,
        c.workload, session_hash,
        sum(need)::BIGINT AS need, sum(labelled)::BIGINT AS labelled, sum(passed)::BIGINT AS passed
    FROM asked_sessions AS c
    JOIN slices AS s USING (cut)
    LEFT JOIN crowded_windows AS f ON f.cut = c.cut AND f.window_s = c.window_s AND f.start_s = c.start_s
    LEFT JOIN kept_values AS k
        ON k.cut = c.cut AND k.window_s = c.window_s AND k.start_s = c.start_s AND k.slice_value = c.slice_value
    LEFT JOIN kept_names AS n ON n.window_s = c.window_s AND n.start_s = c.start_s
    GROUP BY ALL
    HAVING sum(need) > 1
)
SELECT
    slice, slice_value, window_s, start_s, k_workload, k_model, k_pool, k_route, workload,
    unnest(pairs_in_sessions(need, labelled, passed))
FROM sessions
GROUP BY slice, slice_value, window_s, start_s, k_workload, k_model, k_pool, k_route, workload
