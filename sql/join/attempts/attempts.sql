-- description: Every attempt with the request that it is a try of, its order in it and the request's workload (docs/semantics.md#attempts-and-requests)
-- grain: attempt_id
-- reads: attempt_facts, attempt_requests, request_facts
-- kind: view
SELECT
    f.* EXCLUDE (request_key, client_tries, gateway_tries, engine_tries),
    q.request_key,
    q.workload,
    r.attempt_index,
    f.attempt_id = q.delivering_attempt_id AS delivered,
    at_utc(f.started_ns) AS started_at,
    at_utc(f.first_token_ns) AS first_token_at,
    at_utc(f.ended_ns) AS ended_at,
    coalesce(at_utc(q.ended_ns), at_utc(q.arrived_ns)) AS request_at
FROM attempt_facts AS f
JOIN attempt_requests AS r USING (attempt_id)
JOIN request_facts AS q ON q.request_id = r.request_id
