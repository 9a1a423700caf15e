-- description: How labels and passes go together within sessions, of each workload in each row of `waste`: sums over pairs of requests of one session
-- grain: slice, slice_value, window_s, start_s, k_workload, k_model, k_pool, k_route, workload
-- reads: crowded_windows, grains, kept_names, kept_values, requests, slice_cuts, slice_values, slices, workload_rules
-- unit: as in label_clusters
WITH asked AS (
    SELECT
        request_key, epoch_us(ended_at) // 1000000 AS ended_s,
        r.workload, coalesce(r.model, 'unknown') AS model, coalesce(r.pool, 'unknown') AS pool, coalesce(r.route, 'unknown') AS route,
        hash(session_id) AS session_hash, pass_quality
    FROM requests AS r
    JOIN workload_rules AS w ON w.workload = r.workload AND w.has_quality AND w.unlabelled = 'estimate' AND w.sampling <> 'none'
    WHERE session_id IS NOT NULL AND needs_label AND verdict <> 'in_flight'
),
cuts AS (
    SELECT 0 AS cut, NULL::VARCHAR AS slice_value, * FROM asked
    UNION ALL BY NAME
    SELECT k.cut, v.cut_values[k.cut] AS slice_value, a.*
    FROM asked AS a JOIN slice_values AS v USING (request_key, ended_s) CROSS JOIN slice_cuts AS k
),
counted AS (
    SELECT
        window_s, ended_s // window_s * window_s AS start_s, cut, slice_value, workload, model, pool, route, session_hash,
        count(*) AS need, count(pass_quality) AS labelled, count(*) FILTER (WHERE pass_quality) AS passed
    FROM cuts
    CROSS JOIN grains
    GROUP BY ALL
),
sessions AS (
    SELECT
        s.slice, kept_value(c.slice_value, f.cut IS NOT NULL, k.cut IS NOT NULL) AS slice_value, c.window_s, c.start_s,
        CASE WHEN s.by_workload THEN c.workload END AS k_workload,
        CASE WHEN s.by_model THEN kept_name(c.model, n.models) END AS k_model,
        CASE WHEN s.by_pool THEN kept_name(c.pool, n.pools) END AS k_pool,
        CASE WHEN s.by_route THEN kept_name(c.route, n.routes) END AS k_route,
        c.workload, session_hash,
        sum(need)::BIGINT AS need, sum(labelled)::BIGINT AS labelled, sum(passed)::BIGINT AS passed
    FROM counted AS c
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
