-- description: Every attempt with the request that it is a try of, its order in it and the request's workload (docs/semantics.md#attempts-and-requests)
-- grain: attempt_id
-- reads: request_attempts
-- kind: view
SELECT
    *,
    at_utc(started_ns) AS started_at,
    at_utc(first_token_ns) AS first_token_at,
    at_utc(ended_ns) AS ended_at,
    coalesce(at_utc(request_ended_ns), at_utc(request_arrived_ns)) AS request_at
FROM request_attempts
