-- description: Sessions of several requests that need a label, and how many of them have one: such requests may fare alike
-- grain: window_s, start_s, workload, model, pool, route, session_hash
-- reads: grains, measured_range, measured_requests
SELECT
    window_s,
    ended_s // window_s * window_s AS start_s,
    workload, model, pool, route, session_hash,
    count(*) AS need,
    count(pass_quality) AS labelled,
    count(*) FILTER (WHERE pass_quality) AS passed
FROM measured_requests
CROSS JOIN grains
CROSS JOIN measured_range
WHERE needs_label AND session_hash IS NOT NULL AND ended_s >= from_s AND ended_s < until_s
GROUP BY ALL
