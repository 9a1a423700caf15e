-- description: One row per attempt with every fact from the layer that has authority over it; nothing is added across layers (semantics 1)
-- grain: attempt_id
WITH linked AS (
    SELECT
        r.*,
        c.head_id,
        c.root_id,
        c.depth,
        h.record_id IS NOT NULL AS is_choice,
        CASE r.layer WHEN 'engine' THEN 0 WHEN 'gateway' THEN 100 ELSE 200 END + c.depth AS engine_first
    FROM unique_records AS r
    JOIN record_chains AS c USING (record_id)
    LEFT JOIN record_choices AS h ON h.record_id = r.record_id
),
merged AS (
    SELECT
        head_id AS attempt_id,
        min(root_id) AS root_id,
        list(record_id ORDER BY depth) AS record_ids,
        arg_min(source_id, depth) AS source,
        arg_min(dialect, depth) AS dialect,
        arg_min(layer, depth) AS layer,
        -- identity, outcome, what the user saw, session, tenant and price: the outermost layer that has them
        arg_min(trace_id, depth) AS trace_id,
        arg_min(span_id, depth) AS span_id,
        arg_min(parent_span_id, depth) FILTER (WHERE record_id = head_id) AS parent_span_id,
        arg_min(request_key, depth) AS request_key,
        arg_min(response_id, depth) AS response_id,
        arg_min(call_id, depth) AS call_id,
        bool_or(covers_tries) FILTER (WHERE record_id = head_id) AS covers_tries,
        arg_min(started_ns, depth) AS started_ns,
        arg_min(started_ns, depth) FILTER (WHERE record_id <> head_id) AS tried_ns,
        arg_min(intended_ns, depth) AS intended_ns,
        arg_min(first_token_ns, depth) AS first_token_ns,
        arg_min(ended_ns, depth) AS ended_ns,
        arg_min(tenant, depth) AS tenant,
        arg_min(session_id, depth) AS session_id,
        arg_min(route, depth) AS route,
        arg_min(pool, depth) AS pool,
        arg_min(model, depth) AS model,
        arg_min(streamed, depth) AS streamed,
        arg_min(itl_p95_s, depth) AS itl_p95_s,
        arg_min(jitter_s, depth) AS jitter_s,
        -- the status of a whole call says that an answer began; of records of one try the one that saw it fail is right
        coalesce(
            arg_min(outcome, CASE WHEN covers_tries AND outcome = 'ok' THEN 100 ELSE floor(depth) END * 2 + (outcome = 'ok')::INTEGER)
                FILTER (WHERE outcome <> 'unknown'),
            'unknown') AS outcome,
        arg_min(finish_reason, depth) AS finish_reason,
        arg_min(error_type, depth) AS error_type,
        arg_min(http_status, depth) AS http_status,
        arg_min(reported_attempts, depth) AS reported_attempts,
        arg_min(reported_cost_usd, depth) AS reported_cost_usd,
        arg_min(attributes, depth) AS attributes,
        bool_or(layer = 'engine') AS engine_seen,
        -- what the engine knows best, then the layers above it
        arg_min(replica, engine_first) AS replica,
        arg_min(queue_s, engine_first) AS queue_s,
        arg_min(prefill_s, engine_first) AS prefill_s,
        arg_min(decode_s, engine_first) AS decode_s,
        arg_min(input_tokens, engine_first) AS input_tokens,
        arg_min(cached_input_tokens, engine_first) AS cached_input_tokens,
        arg_min(cache_write_tokens, engine_first) AS cache_write_tokens,
        -- of parallel answers each has tokens of its own; they were generated at once, so one of them sets the pace
        arg_min(output_tokens, engine_first) + coalesce(sum(output_tokens) FILTER (WHERE is_choice), 0)::BIGINT AS output_tokens,
        CASE WHEN bool_or(is_choice) THEN max(output_tokens) FILTER (WHERE layer = 'engine') END AS longest_choice_tokens,
        arg_min(reasoning_tokens, engine_first) AS reasoning_tokens,
        arg_min(draft_tokens, engine_first) AS draft_tokens,
        arg_min(accepted_draft_tokens, engine_first) AS accepted_draft_tokens,
        arg_min(preemptions, engine_first) AS preemptions,
        arg_min(recomputed_tokens, engine_first) AS recomputed_tokens
    FROM linked
    GROUP BY head_id
),
alone AS (
    SELECT record_id AS attempt_id, record_id AS root_id, [record_id] AS record_ids, source_id AS source,
        layer = 'engine' AS engine_seen, r.*
    FROM unique_records AS r
    ANTI JOIN record_chains AS c USING (record_id)
),
heard AS (
    SELECT
        * EXCLUDE (first_token_ns),
        -- an answer that was not streamed reached its user whole, at its end; one without a token has no first
        CASE
            WHEN streamed = false THEN ended_ns
            WHEN outcome = 'ok' AND output_tokens = 0 THEN NULL
            ELSE first_token_ns
        END AS first_token_ns
    FROM (
        SELECT * FROM merged
        UNION ALL BY NAME
        SELECT * EXCLUDE (record_id, source_id, line, position, ttft_s, e2e_s), NULL::BIGINT AS tried_ns, NULL::BIGINT AS longest_choice_tokens FROM alone
    )
),
waited AS (
    SELECT
        *,
        coalesce(least(intended_ns, started_ns), started_ns) AS arrived_ns,
        (ended_ns - started_ns) / 1e9 AS e2e_s,
        -- clocks of two layers may disagree: a first token before the start is no latency
        CASE WHEN first_token_ns >= started_ns THEN (first_token_ns - started_ns) / 1e9 END AS ttft_s
    FROM heard
)
SELECT
    *,
    coalesce(longest_choice_tokens, output_tokens) AS paced_tokens,
    CASE WHEN outcome = 'ok' AND paced_tokens > 1 AND streamed IS DISTINCT FROM false AND e2e_s >= ttft_s
        THEN (e2e_s - ttft_s) / (paced_tokens - 1) END AS tpot_s
FROM waited
