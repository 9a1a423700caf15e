-- description: Attempts split at the ledger's windows, each with its bucket and the work it asked of its replica there (docs/semantics.md#money)
-- grain: attempt_id, step_s
-- reads: judged_attempts, ledger_options, model_weights, target_hours
-- unit: work in weighted tokens; `share` is the part of the attempt's time that lies in the window
-- An attempt that was never seen to end takes no time, as how long it was served is unknown. Its tokens count where it began.
WITH weighed AS (
    SELECT
        a.*, w.prefill_weight, w.cached_weight, w.decode_weight, w.draft_weight,
        -- not all of its tokens were reported; an answer that reports no output tokens generated none
        a.input_tokens IS NULL OR (a.output_tokens IS NULL AND a.outcome <> 'ok') AS is_unreported,
        -- streamed, and not one token came: it waited
        a.output_tokens IS NULL AND a.outcome <> 'ok' AND coalesce(a.streamed, false) AND a.first_token_ns IS NULL AS is_waiting
    FROM judged_attempts AS a
    JOIN model_weights AS w ON w.model IS NOT DISTINCT FROM a.model
),
judged AS (
    SELECT
        attempt_id, request_key, workload, model, replica, pool, route, tenant, engine_seen, part_hour,
        started_ns AS start_ns,
        greatest(coalesce(ended_ns, started_ns), started_ns) AS end_ns,
        CASE
            WHEN NOT delivered THEN 'retry'
            WHEN outcome = 'cancelled' THEN 'abandoned'
            -- delivered, but a later try is still in flight: the verdict is known when that is over
            WHEN verdict IS NULL OR verdict = 'in_flight' THEN 'unevaluable'
            ELSE verdict
        END AS bucket,
        CASE WHEN bucket = 'slow' THEN late_by END AS late_by,
        prefill_weight, cached_weight, draft_weight,
        prefill_weight * at_least(input_tokens - cached_input_tokens, 0) + cached_weight * cached_input_tokens AS prompt_work,
        decode_weight * CASE WHEN outcome = 'ok' THEN coalesce(output_tokens, 0) ELSE output_tokens END AS decode_work,
        CASE WHEN first_token_ns BETWEEN started_ns AND ended_ns THEN (ended_ns - first_token_ns) / 1e9 END AS decode_s,
        (coalesce(first_token_ns, ended_ns) - started_ns) / 1e9 AS wait_s,
        is_waiting,
        -- NULL where tokens were not reported: such an attempt is charged by similar ones, else by its time
        CASE
            WHEN NOT is_unreported THEN
                prefill_weight * greatest(input_tokens - coalesce(cached_input_tokens, 0), 0)
                + cached_weight * coalesce(cached_input_tokens, 0)
                + decode_weight * coalesce(output_tokens, 0)
            WHEN is_waiting THEN 0
        END AS reported_work,
        is_unreported,
        is_unreported OR cached_input_tokens IS NULL AS needs_estimate,
        recomputed_tokens::DOUBLE AS recomputed_tokens,
        draft_tokens::DOUBLE AS draft_tokens,
        draft_tokens - coalesce(accepted_draft_tokens, draft_tokens)::DOUBLE AS rejected_tokens,
        coalesce(input_tokens, 0) + coalesce(output_tokens, 0)::DOUBLE AS tokens,
        input_tokens, cached_input_tokens, cache_write_tokens, output_tokens, reasoning_tokens,
        coalesce(answered_from_cache, false) AS answered_from_cache, reported_cost_usd
    FROM weighed
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
    (to_ns - from_ns) / 1e9 AS seconds
FROM split
WHERE step * step_ns // 3600000000000 IN (SELECT epoch_hour FROM target_hours)
    -- what lies further away may or may not have been read: it never counts
    AND part_hour - step * step_ns // 3600000000000 <= reach_h
