-- description: Every attempt with what its request is: when that arrived and ended, how often it was tried, whether this attempt delivered, and its workload (docs/semantics.md#attempts-and-requests, #gates-and-verdicts)
-- grain: attempt_id
-- reads: attempt_requests, observed, options, request_workloads, retried_requests
-- kind: view
WITH summed AS (
    SELECT
        f.* EXCLUDE (request_key),
        coalesce(q.request_key, f.request_key) AS request_key,
        coalesce(q.delivering_attempt_id, f.attempt_id) AS delivering_attempt_id,
        coalesce(q.attempts, 1) AS attempts,
        coalesce(q.retry_count, greatest(coalesce(f.reported_attempts, 1) - 1, 0)) AS retry_count,
        coalesce(q.arrived_ns, f.arrived_ns) AS request_arrived_ns,
        CASE WHEN f.retried THEN q.over_ns ELSE f.over_ns END AS request_over_ns,
        CASE WHEN f.retried THEN q.model ELSE f.model END AS asked_model,
        CASE WHEN f.retried THEN q.route ELSE f.route END AS asked_route,
        CASE WHEN f.retried THEN q.pool ELSE f.pool END AS asked_pool,
        CASE WHEN f.retried THEN q.tenant ELSE f.tenant END AS request_tenant,
        CASE WHEN f.retried THEN q.session_id ELSE f.session_id END AS request_session_id,
        CASE WHEN f.retried THEN q.attributes ELSE f.attributes END AS request_attributes
    FROM attempt_requests AS f
    LEFT JOIN retried_requests AS q USING (request_id)
)
SELECT
    s.* EXCLUDE (request_over_ns, asked_model, asked_route, asked_pool),
    coalesce(w.workload, 'unassigned') AS workload,
    NOT s.retried OR s.attempt_id = s.delivering_attempt_id AS delivered,
    -- never seen to end: over, and failed, once it is older than any request may live; until then in flight
    s.request_over_ns IS NULL AS unended,
    CASE
        WHEN s.request_over_ns IS NOT NULL THEN s.request_over_ns
        WHEN s.request_arrived_ns + o.max_request_lifetime_ns <= b.observed_until_ns
            THEN s.request_arrived_ns + o.max_request_lifetime_ns
    END AS request_ended_ns
FROM summed AS s
CROSS JOIN options AS o
CROSS JOIN observed AS b
LEFT JOIN request_workloads AS w
    ON w.model IS NOT DISTINCT FROM s.asked_model AND w.route IS NOT DISTINCT FROM s.asked_route
    AND w.pool IS NOT DISTINCT FROM s.asked_pool AND w.tenant IS NOT DISTINCT FROM s.request_tenant
    AND w.attributes IS NOT DISTINCT FROM s.request_attributes
