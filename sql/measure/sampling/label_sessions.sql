-- description: Sessions of several requests that need a label, and how many of them have one: such requests may fare alike
-- grain: window_s, start_s, cut, slice_value, workload, model, pool, route, session_hash
-- reads: grains, label_requests
SELECT
    window_s,
    ended_s // window_s * window_s AS start_s,
    cut, slice_value, workload, model, pool, route, session_hash,
    count(*) AS need,
    count(pass_quality) AS labelled,
    count(*) FILTER (WHERE pass_quality) AS passed
FROM label_requests
CROSS JOIN grains
WHERE session_hash IS NOT NULL
GROUP BY ALL
