-- description: Beginnings and ends of the sessions that workloads with unit session count, shaped like `measured_requests` (docs/semantics.md#sessions)
-- grain: session_id, workload, and whether it begins or ends here
-- reads: session_hours, window_options, workload_rules
-- A session is over once none of its hours follows within `session_reach_h`, and no hour further back than that counts for it:
-- a window then depends only on the hours around it.
WITH own AS (
    SELECT h.*, w.has_quality, w.unlabelled = 'estimate' AND w.sampling <> 'none' AS is_drawn, p.session_reach_h
    FROM session_hours AS h
    JOIN workload_rules AS w ON w.workload = h.workload AND w.unit = 'session'
    CROSS JOIN window_options AS p
),
placed AS (
    SELECT
        * EXCLUDE (requests, retries, in_flight_requests, failed_requests, ungated_requests, over_budget_requests,
            slow_requests, rejected_requests, unevaluable_requests, unlabelled_requests, accepted_requests, need_label, judged_passed, judged_failed,
            sole_failing, first_sole_gate, last_sole_gate, output_tokens, tenant, attributes),
        coalesce(epoch_hour - lag(epoch_hour) OVER session > session_reach_h, true) AS begins,
        coalesce(lead(epoch_hour) OVER session - epoch_hour > session_reach_h, true) AS ends,
        sum(COLUMNS('^(requests|retries|.*_requests|need_label|judged_.*|sole_failing|output_tokens)$')) OVER lately,
        min(first_sole_gate) OVER lately AS first_sole_gate,
        max(last_sole_gate) OVER lately AS last_sole_gate,
        -- what it had last: a request that reports none takes none away
        last_value(tenant IGNORE NULLS) OVER lately AS tenant,
        merged_attributes(list(attributes) FILTER (WHERE attributes IS NOT NULL) OVER lately) AS attributes
    FROM own
    WINDOW
        session AS (PARTITION BY session_id, workload ORDER BY epoch_hour),
        lately AS (PARTITION BY session_id, workload ORDER BY epoch_hour
            RANGE BETWEEN session_reach_h PRECEDING AND CURRENT ROW)
),
judged AS (
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
        END AS verdict
    FROM placed
)
SELECT
    workload, model, pool, route, tenant, attributes,
    verdict,
    CASE WHEN first_sole_gate = last_sole_gate AND sole_failing = requests - accepted_requests - unlabelled_requests
        THEN first_sole_gate END AS sole_failing_gate,
    NULL::BIGINT AS arrived_s,
    epoch_us(ended_at) // 1000000 AS ended_s,
    output_tokens,
    retries > 0 AS retried,
    has_quality AND need_label = requests AS needs_label,
    failed_requests = 0 AS pass_success,
    -- drawn labels are those of sessions that were judged whole: a long one is known to fail sooner than to pass
    CASE
        WHEN is_drawn AND judged_passed + judged_failed < requests THEN NULL
        WHEN judged_failed > 0 THEN false
        WHEN judged_passed = requests THEN true
    END AS pass_quality,
    judged_passed + judged_failed BETWEEN 1 AND requests - 1 AS partly_judged
FROM judged
WHERE ends AND verdict <> 'in_flight'
UNION ALL BY NAME
SELECT workload, model, pool, route, tenant, attributes, 'in_flight' AS verdict, epoch_us(started_at) // 1000000 AS arrived_s
FROM judged
WHERE begins
