-- description: Every request with each gate's outcome and its verdict (docs/semantics.md#gates-and-verdicts, #quality)
-- grain: request_key
-- reads: options, quality_labels, request_attempts, workload_rules
-- kind: view
WITH judged AS (
    SELECT
        l.request_id,
        bool_or(l.passed = false) AS any_failed,
        count(DISTINCT l.evaluator) FILTER (WHERE l.passed) AS evaluators_passed,
        count(DISTINCT l.evaluator) AS evaluators_judged
    FROM quality_labels AS l
    JOIN workload_rules AS w USING (workload)
    WHERE l.current AND l.passed IS NOT NULL AND (len(w.evaluators) = 0 OR list_contains(w.evaluators, l.evaluator))
    GROUP BY l.request_id
),
measured AS (
    SELECT
        d.request_key,
        d.workload,
        at_utc(d.request_arrived_ns) AS arrived_at,
        at_utc(d.request_ended_ns) AS ended_at,
        d.attempts,
        d.retry_count,
        d.delivering_attempt_id,
        coalesce(d.tenant, d.request_tenant) AS tenant, coalesce(d.session_id, d.request_session_id) AS session_id, d.model, d.replica, d.pool, d.route, d.streamed,
        d.request_attributes AS attributes,
        CASE WHEN o.latency_origin = 'attempt' THEN d.arrived_ns ELSE d.request_arrived_ns END AS origin_ns,
        -- clocks of two layers may disagree: a first token before the arrival is no latency
        CASE WHEN NOT d.unended AND d.first_token_ns >= origin_ns THEN d.first_token_ns - origin_ns END AS ttft_ns,
        CASE WHEN NOT d.unended AND d.e2e_s IS NOT NULL THEN d.ended_ns - origin_ns END AS e2e_ns,
        CASE WHEN NOT d.unended THEN d.ended_ns - d.request_arrived_ns END AS since_submission_ns,
        d.arrived_ns - origin_ns AS tries_ns,
        d.arrived_ns - d.request_arrived_ns AS asked_ns,
        round(d.queue_s * 1e9) AS queue_ns, round(d.prefill_s * 1e9) AS prefill_ns,
        d.queue_s, d.itl_p95_s, d.jitter_s,
        d.input_tokens, d.cached_input_tokens, d.cache_write_tokens, d.output_tokens, d.paced_tokens, d.reasoning_tokens,
        CASE WHEN d.unended AND d.request_ended_ns IS NOT NULL THEN 'timeout' ELSE d.outcome END AS outcome,
        d.finish_reason, d.error_type,
        d.request_ended_ns IS NULL AS in_flight,
        j.any_failed, j.evaluators_passed, j.evaluators_judged,
        w.* EXCLUDE (workload, ordinal, model, route, pool, tenant, attributes)
    FROM request_attempts AS d
    CROSS JOIN options AS o
    LEFT JOIN workload_rules AS w USING (workload)
    LEFT JOIN judged AS j ON j.request_id = d.request_id
    WHERE d.delivered
),
timed AS (
    SELECT
        *,
        ttft_ns / 1e9 AS ttft_s,
        e2e_ns / 1e9 AS e2e_s,
        CASE WHEN paced_tokens > 1 AND streamed IS DISTINCT FROM false AND e2e_ns >= ttft_ns THEN e2e_ns - ttft_ns END AS pace_ns,
        pace_ns / 1e9 / (paced_tokens - 1) AS tpot_s
    FROM measured
),
gated AS (
    SELECT
        *,
        CASE WHEN NOT in_flight THEN outcome = 'ok' END AS pass_success,
        retry_count <= retries_bound AS pass_retries,
        -- in whole nanoseconds: a double of seconds may lie a hair beyond a bound that was kept
        ttft_ns <= ttft_bound_ns AS pass_ttft,
        ttft_bound_ns IS NOT NULL AND ttft_ns IS NULL AND NOT ttft_missing_passes AS ttft_unknown,
        tpot_bound_ns IS NOT NULL AND (coalesce(paced_tokens, 2) <= 1 OR streamed IS NOT DISTINCT FROM false) AS tpot_na,
        pace_ns <= tpot_bound_ns::HUGEINT * (paced_tokens - 1) AS pass_tpot,
        tpot_bound_ns IS NOT NULL AND pace_ns IS NULL AND NOT tpot_na AND NOT tpot_missing_passes AS tpot_unknown,
        e2e_ns <= e2e_bound_ns AS pass_e2e,
        e2e_bound_ns IS NOT NULL AND e2e_ns IS NULL AND NOT e2e_missing_passes AS e2e_unknown,
        round(itl_p95_s * 1e9) <= itl_p95_bound_ns AS pass_itl_p95,
        itl_p95_bound_ns IS NOT NULL AND itl_p95_s IS NULL AND NOT itl_p95_missing_passes AS itl_p95_unknown,
        round(jitter_s * 1e9) <= jitter_bound_ns AS pass_jitter,
        jitter_bound_ns IS NOT NULL AND jitter_s IS NULL AND NOT jitter_missing_passes AS jitter_unknown,
        since_submission_ns <= deadline_bound_ns AS pass_deadline,
        deadline_bound_ns IS NOT NULL AND since_submission_ns IS NULL AND NOT deadline_missing_passes AS deadline_unknown,
        CASE
            -- among answers known as soon as one evaluator fails them, failures would be more than their share
            WHEN unlabelled = 'estimate' AND sampling <> 'none' AND evaluators_judged < len(evaluators) THEN NULL
            WHEN any_failed THEN false
            WHEN coalesce(evaluators_passed, 0) >= greatest(len(evaluators), 1) THEN true
        END AS quality_known
    FROM timed
),
blocked AS (
    SELECT
        *,
        CASE WHEN has_quality THEN quality_known END AS pass_quality,
        CASE WHEN NOT pass_ttft THEN ttft_ns - ttft_bound_ns END AS ttft_over_ns,
        CASE WHEN NOT pass_e2e THEN e2e_ns - e2e_bound_ns END AS e2e_over_ns,
        CASE WHEN NOT pass_deadline THEN since_submission_ns - deadline_bound_ns END AS deadline_over_ns,
        coalesce(has_quality AND quality_known IS DISTINCT FROM true, false) AS quality_blocks,
        list_filter([
            CASE WHEN NOT pass_success THEN 'success' END,
            CASE WHEN NOT pass_retries THEN 'retries' END,
            CASE WHEN pass_ttft = false OR ttft_unknown THEN 'ttft' END,
            CASE WHEN pass_tpot = false OR tpot_unknown THEN 'tpot' END,
            CASE WHEN pass_e2e = false OR e2e_unknown THEN 'e2e' END,
            CASE WHEN pass_itl_p95 = false OR itl_p95_unknown THEN 'itl_p95' END,
            CASE WHEN pass_jitter = false OR jitter_unknown THEN 'jitter' END,
            CASE WHEN pass_deadline = false OR deadline_unknown THEN 'deadline' END
        ], lambda gate: gate IS NOT NULL) AS blocking
    FROM gated
)
SELECT
    * EXCLUDE (blocking, quality_blocks, tpot_na),
    coalesce(has_quality, false) AND NOT in_flight AND len(blocking) = 0 AS needs_label,
    coalesce(tpot_na, false) AND NOT in_flight AS tpot_na,
    CASE
        WHEN in_flight THEN NULL
        -- without a workload it would be accepted in no way
        WHEN has_quality IS NULL THEN NULL
        -- a label that is still missing fails nothing
        WHEN len(blocking) = 1 AND pass_quality IS DISTINCT FROM false THEN blocking[1]
        WHEN len(blocking) = 0 AND pass_quality = false THEN 'quality'
    END AS sole_failing_gate,
    CASE
        WHEN in_flight THEN 'in_flight'
        WHEN NOT pass_success THEN 'failed'
        WHEN has_quality IS NULL THEN 'ungated' -- it matches no workload
        WHEN pass_retries = false THEN 'over_budget'
        WHEN pass_ttft = false OR pass_tpot = false OR pass_e2e = false OR pass_itl_p95 = false
            OR pass_jitter = false OR pass_deadline = false THEN 'slow'
        WHEN pass_quality = false THEN 'rejected'
        WHEN len(blocking) > 0 THEN 'unevaluable'
        WHEN quality_blocks THEN 'unlabelled'
        ELSE 'accepted'
    END AS verdict,
    CASE
        WHEN verdict <> 'slow' THEN NULL
        -- what waits is before the first token: what lies between tokens has nothing of it
        WHEN pass_tpot = false OR pass_itl_p95 = false OR pass_jitter = false THEN 'work'
        WHEN greatest(ttft_over_ns - queue_ns, e2e_over_ns - queue_ns, deadline_over_ns - queue_ns) <= 0 THEN 'queue'
        WHEN greatest(
            ttft_over_ns - tries_ns - coalesce(queue_ns, 0), e2e_over_ns - tries_ns - coalesce(queue_ns, 0),
            deadline_over_ns - asked_ns - coalesce(queue_ns, 0)) <= 0 THEN 'retries'
        -- no other wait had to be, and yet the first token could not have come in time
        WHEN prefill_ns > ttft_bound_ns THEN 'prefill'
        WHEN queue_ns IS NOT NULL THEN 'work'
    END AS late_by,
    NULL::DOUBLE AS cost_usd
FROM blocked
