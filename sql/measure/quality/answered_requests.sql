-- description: Requests that were delivered with a complete answer, by where and when they were served; none where nobody judged any
-- grain: request_key, ended_at
-- reads: quality_labels, requests
SELECT
    request_key, ended_at, epoch_us(ended_at) // 1000000 AS ended_s,
    workload, coalesce(model, 'unknown') AS model, coalesce(pool, 'unknown') AS pool, coalesce(route, 'unknown') AS route,
    -- the hash of NULL is a number like any other
    CASE WHEN session_id IS NOT NULL THEN text_hash(session_id) END AS session_hash,
    pass_quality
FROM requests
WHERE pass_success AND (EXISTS (FROM quality_labels) OR EXISTS (FROM requests WHERE pass_quality IS NOT NULL))
