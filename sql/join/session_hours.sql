-- description: What each session did in each hour: sessions of any length are added up from these, without their requests (docs/semantics.md#sessions)
-- grain: epoch_hour, session_id, workload
-- reads: any_session, requests
SELECT
    epoch_hour,
    session_id,
    workload,
    -- where it was seen last: of requests that end in the same microsecond always the same one
    arg_max(coalesce(model, 'unknown'), last_first) AS model,
    arg_max(coalesce(pool, 'unknown'), last_first) AS pool,
    arg_max(coalesce(route, 'unknown'), last_first) AS route,
    arg_max(tenant, last_first) AS tenant,
    merged_attributes(list(attributes ORDER BY last_first) FILTER (WHERE attributes IS NOT NULL)) AS attributes,
    min(arrived_at) AS started_at,
    max(coalesce(ended_at, arrived_at)) AS ended_at,
    count(*) AS requests,
    sum(attempts)::BIGINT AS attempts,
    sum(retry_count)::BIGINT AS retries,
    count(*) FILTER (WHERE verdict = 'in_flight') AS in_flight_requests,
    count(*) FILTER (WHERE verdict = 'failed') AS failed_requests,
    count(*) FILTER (WHERE verdict = 'ungated') AS ungated_requests,
    count(*) FILTER (WHERE verdict = 'over_budget') AS over_budget_requests,
    count(*) FILTER (WHERE verdict = 'slow') AS slow_requests,
    count(*) FILTER (WHERE verdict = 'rejected') AS rejected_requests,
    count(*) FILTER (WHERE verdict = 'unevaluable') AS unevaluable_requests,
    count(*) FILTER (WHERE verdict = 'unlabelled') AS unlabelled_requests,
    count(*) FILTER (WHERE verdict = 'accepted') AS accepted_requests,
    count(*) FILTER (WHERE needs_label) AS need_label,
    count(*) FILTER (WHERE pass_quality) AS judged_passed,
    count(*) FILTER (WHERE NOT pass_quality) AS judged_failed,
    count(sole_failing_gate) AS sole_failing,
    min(sole_failing_gate) AS first_sole_gate,
    max(sole_failing_gate) AS last_sole_gate,
    sum(output_tokens)::BIGINT AS output_tokens
FROM (
    SELECT
        *,
        epoch_us(coalesce(ended_at, arrived_at)) // 3600000000 AS epoch_hour,
        -- microseconds of the hour, and 31 bits by which its key stands in an order: a number costs a fraction of a key
        epoch_us(coalesce(ended_at, arrived_at)) % 3600000000 * 2147483648 + (text_hash(request_key) & 2147483647)::BIGINT AS last_first
    FROM requests
    SEMI JOIN any_session ON true
)
WHERE session_id IS NOT NULL
GROUP BY ALL
