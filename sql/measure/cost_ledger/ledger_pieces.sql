-- description: Attempts split at the ledger's windows, each with its bucket and the work it asked of its replica there (semantics 5)
-- grain: attempt_id, step_s
-- reads: attempts, ledger_options, model_weights, requests, target_hours
-- unit: work in weighted tokens; `share` is the part of the attempt's time that lies in the window
-- An attempt that was never seen to end takes no time, as how long it was served is unknown. Its tokens count where it began.
WITH judged AS (
    SELECT
        a.attempt_id, a.request_key, a.workload, a.model, a.replica, a.pool, a.route, a.engine_seen, a.part_hour,
        a.started_ns AS start_ns,
        greatest(coalesce(a.ended_ns, a.started_ns), a.started_ns) AS end_ns,
        CASE
            WHEN NOT a.delivered THEN 'retry'
            WHEN a.outcome = 'cancelled' THEN 'abandoned'
            -- delivered, but a later try is still in flight: the verdict is known when that is over
            WHEN q.verdict IS NULL OR q.verdict = 'in_flight' THEN 'unevaluable'
            ELSE q.verdict
        END AS bucket,
        w.prefill_weight, w.cached_weight, w.draft_weight,
        w.prefill_weight * greatest(a.input_tokens - a.cached_input_tokens, 0) + w.cached_weight * a.cached_input_tokens
            AS prompt_work,
        -- an answer that reports no output tokens generated none
        w.decode_weight * CASE WHEN a.outcome = 'ok' THEN coalesce(a.output_tokens, 0) ELSE a.output_tokens END AS decode_work,
        CASE WHEN a.first_token_ns BETWEEN a.started_ns AND a.ended_ns THEN (a.ended_ns - a.first_token_ns) / 1e9 END AS decode_s,
        (coalesce(a.first_token_ns, a.ended_ns) - a.started_ns) / 1e9 AS wait_s,
        -- streamed, and not one token came: it waited
        a.output_tokens IS NULL AND a.outcome <> 'ok' AND coalesce(a.streamed, false) AND a.first_token_ns IS NULL AS is_waiting,
        -- unknown where tokens were not reported: such an attempt is charged by similar ones, else by its time
        CASE WHEN a.input_tokens IS NOT NULL AND (a.output_tokens IS NOT NULL OR a.outcome = 'ok') THEN
            w.prefill_weight * greatest(a.input_tokens - coalesce(a.cached_input_tokens, 0), 0)
            + w.cached_weight * coalesce(a.cached_input_tokens, 0)
            + w.decode_weight * coalesce(a.output_tokens, 0)
            WHEN is_waiting THEN 0
        END AS reported_work,
        a.input_tokens IS NULL OR (a.output_tokens IS NULL AND a.outcome <> 'ok') AS is_unreported,
        is_unreported OR a.cached_input_tokens IS NULL AS needs_estimate,
        a.recomputed_tokens::DOUBLE AS recomputed_tokens,
        a.draft_tokens::DOUBLE AS draft_tokens,
        a.draft_tokens - coalesce(a.accepted_draft_tokens, a.draft_tokens)::DOUBLE AS rejected_tokens,
        coalesce(a.input_tokens, 0) + coalesce(a.output_tokens, 0)::DOUBLE AS tokens,
        a.input_tokens, a.cached_input_tokens, a.cache_write_tokens, a.output_tokens, a.reasoning_tokens,
        a.reported_cost_usd
    FROM attempts AS a
    JOIN model_weights AS w ON w.model IS NOT DISTINCT FROM a.model
    LEFT JOIN requests AS q ON a.delivered AND q.delivering_attempt_id = a.attempt_id
),
stepped AS (
    SELECT
        j.*, o.step_ns, o.reach_h,
        start_ns // step_ns AS first_step,
        greatest(end_ns - 1, start_ns) // step_ns AS last_step
    FROM judged AS j
    CROSS JOIN ledger_options AS o
),
split AS (
    SELECT *, unnest(range(first_step, last_step + 1)) AS step FROM stepped
)
SELECT
    * EXCLUDE (part_hour, end_ns, step_ns, reach_h, first_step, last_step, step),
    step * step_ns // 1000000000 AS step_s,
    greatest(start_ns, step * step_ns) AS from_ns,
    least(end_ns, (step + 1) * step_ns) AS to_ns,
    CASE WHEN end_ns > start_ns THEN (to_ns - from_ns) / (end_ns - start_ns) ELSE 1.0 END AS share,
    (to_ns - from_ns) / 1e9 AS seconds,
    step * step_ns // 3600000000000 IN (SELECT epoch_hour FROM target_hours) AS is_target
FROM split
-- what lies further away may or may not have been read: it never counts
WHERE part_hour - step * step_ns // 3600000000000 <= reach_h
