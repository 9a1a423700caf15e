-- description: Sessions of requests that need a label, where these are drawn, and how many of them have one, as they count in `waste`
-- grain: window_s, start_s, cut, slice_value, workload, model, pool, route, session_hash
-- reads: grains, measured_range, requests, slice_cuts, slice_values, workload_rules
WITH asked AS (
    SELECT
        request_key, epoch_us(ended_at) // 1000000 AS ended_s,
        r.workload, coalesce(r.model, 'unknown') AS model, coalesce(r.pool, 'unknown') AS pool, coalesce(r.route, 'unknown') AS route,
        text_hash(session_id) AS session_hash, pass_quality
    FROM requests AS r
    JOIN workload_rules AS w ON w.workload = r.workload AND w.has_quality AND w.unlabelled = 'estimate' AND w.sampling <> 'none'
    CROSS JOIN measured_range
    WHERE session_id IS NOT NULL AND needs_label AND verdict <> 'in_flight'
        AND epoch_us(ended_at) // 1000000 >= from_s AND epoch_us(ended_at) // 1000000 < until_s
),
cuts AS (
    SELECT 0 AS cut, NULL::VARCHAR AS slice_value, * FROM asked
    UNION ALL BY NAME
    SELECT k.cut, v.cut_values[k.cut] AS slice_value, a.*
    FROM asked AS a JOIN slice_values AS v USING (request_key, ended_s) CROSS JOIN slice_cuts AS k
)
SELECT
    window_s, ended_s // window_s * window_s AS start_s, cut, slice_value, workload, model, pool, route, session_hash,
    count(*) AS need, count(pass_quality) AS labelled, count(*) FILTER (WHERE pass_quality) AS passed
FROM cuts
CROSS JOIN grains
GROUP BY ALL
