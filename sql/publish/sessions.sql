-- description: Every session with all of its requests, however many hours they span; accepted when every one of them is (docs/semantics.md#sessions)
-- grain: session_id
-- reads: requests, session_hours
-- kind: view
SELECT
    *,
    CASE
        WHEN in_flight_requests > 0 THEN 'in_flight'
        WHEN failed_requests > 0 THEN 'failed'
        WHEN ungated_requests > 0 THEN 'ungated'
        WHEN over_budget_requests > 0 THEN 'over_budget'
        WHEN slow_requests > 0 THEN 'slow'
        WHEN rejected_requests > 0 THEN 'rejected'
        WHEN unevaluable_requests > 0 THEN 'unevaluable'
        WHEN unlabelled_requests > 0 THEN 'unlabelled'
        ELSE 'accepted'
    END AS verdict,
    CASE WHEN in_flight_requests = 0 THEN accepted_requests = requests END AS accepted
FROM (
    SELECT
        session_id,
        -- where the session was seen last
        arg_max(workload, (ended_at, workload)) AS workload,
        arg_max(model, (ended_at, workload)) AS model,
        arg_max(pool, (ended_at, workload)) AS pool,
        arg_max(route, (ended_at, workload)) AS route,
        min(started_at) AS started_at,
        max(ended_at) AS ended_at,
        sum(COLUMNS('^(requests|attempts|retries|.*_requests|output_tokens)$'))::BIGINT
    FROM session_hours
    GROUP BY session_id
)
LEFT JOIN (
    SELECT session_id, sum(cost_usd::DECIMAL(38, 18))::DOUBLE AS cost_usd FROM requests GROUP BY session_id
) USING (session_id)
