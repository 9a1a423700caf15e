-- description: Every attempt with the request that it is a try of, its order in it and the request's workload (semantics 1)
-- grain: attempt_id
WITH placed AS (
    SELECT f.attempt_id, f.started_ns, q.request_id, q.attempts
    FROM attempt_facts AS f
    JOIN attempt_requests AS r USING (attempt_id)
    JOIN request_facts AS q ON q.request_id = r.request_id
),
ordered AS (
    SELECT
        attempt_id,
        (row_number() OVER (PARTITION BY request_id ORDER BY started_ns, attempt_id) - 1)::INTEGER AS attempt_index
    FROM placed
    WHERE attempts > 1
)
SELECT
    f.* EXCLUDE (request_key),
    q.request_key,
    q.workload,
    coalesce(i.attempt_index, 0) AS attempt_index,
    f.attempt_id = q.delivering_attempt_id AS delivered,
    at_utc(f.started_ns) AS started_at,
    at_utc(f.first_token_ns) AS first_token_at,
    at_utc(f.ended_ns) AS ended_at,
    coalesce(at_utc(q.ended_ns), at_utc(q.arrived_ns)) AS request_at
FROM attempt_facts AS f
JOIN attempt_requests AS r USING (attempt_id)
JOIN request_facts AS q ON q.request_id = r.request_id
LEFT JOIN ordered AS i ON i.attempt_id = f.attempt_id
