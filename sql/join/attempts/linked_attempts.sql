-- description: Attempts of records that others are linked to, with every fact from the layer that has authority over it; nothing is added across layers (docs/semantics.md#one-attempt-several-records)
-- grain: attempt_id
-- reads: record_chains, record_choices, unique_records
WITH ranked AS (
    SELECT *, CASE layer WHEN 'engine' THEN 0 WHEN 'gateway' THEN 100 ELSE 200 END AS layer_rank
    FROM unique_records
    SEMI JOIN record_chains USING (record_id)
),
-- nearly every chain has at most two records: joining those takes a third of the CPU time of aggregating them
short AS (
    SELECT
        head_id, min(root_id) AS root_id,
        any_value(record_id) FILTER (WHERE record_id <> head_id) AS second_id,
        min(depth) AS depth, max(depth) AS second_depth
    FROM record_chains
    GROUP BY head_id
    HAVING count(*) <= 2 AND NOT bool_or(record_id IN (SELECT record_id FROM record_choices))
),
linked AS (
    SELECT
        r.*,
        c.head_id,
        c.root_id,
        c.depth,
        h.record_id IS NOT NULL AS is_choice,
        r.layer_rank + c.depth AS engine_first
    FROM ranked AS r
    JOIN record_chains AS c USING (record_id)
    ANTI JOIN short AS s ON s.head_id = c.head_id
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
        passed_up(arg_min(first_token_ns, depth), max(first_token_ns) FILTER (WHERE layer = 'client'),
            arg_min(ended_ns, depth), arg_min(layer, depth)) AS first_token_ns,
        arg_min(ended_ns, depth) AS ended_ns,
        arg_min(tenant, depth) AS tenant,
        arg_min(session_id, depth) AS session_id,
        arg_min(route, depth) AS route,
        arg_min(pool, depth) AS pool,
        arg_min(model, depth) AS model,
        arg_min(streamed, depth) AS streamed,
        arg_min(itl_p95_s, depth) AS itl_p95_s,
        arg_min(jitter_s, depth) AS jitter_s,
        coalesce(
            arg_min(outcome, outcome_rank(covers_tries, outcome, depth)) FILTER (WHERE outcome <> 'unknown'),
            'unknown') AS outcome,
        arg_min(finish_reason, depth) AS finish_reason,
        arg_min(error_type, depth) AS error_type,
        arg_min(http_status, depth) AS http_status,
        -- several records of one layer count the same tries
        multiplied_tries(
            multiplied_tries(max(reported_attempts) FILTER (WHERE layer = 'client'), max(reported_attempts) FILTER (WHERE layer = 'gateway')),
            max(reported_attempts) FILTER (WHERE layer = 'engine')) AS reported_attempts,
        max(reported_attempts) FILTER (WHERE layer = 'client' AND NOT coalesce(covers_tries, false)) AS client_tries,
        max(reported_attempts) FILTER (WHERE layer = 'gateway' AND NOT coalesce(covers_tries, false)) AS gateway_tries,
        max(reported_attempts) FILTER (WHERE layer = 'engine') AS engine_tries,
        bool_or(answered_from_cache) AS answered_from_cache,
        arg_min(reported_cost_usd, depth) AS reported_cost_usd,
        merged_attributes(list(attributes ORDER BY depth DESC) FILTER (WHERE attributes IS NOT NULL)) AS attributes,
        bool_or(layer = 'engine') AS engine_seen,
        -- whom the innermost caller called
        arg_max(address, depth) FILTER (WHERE layer <> 'engine') AS address,
        arg_max(layer, depth) FILTER (WHERE layer <> 'engine' AND address IS NOT NULL) AS address_layer,
        -- what the engine knows best, then the layers above it; `goodput explain` reads from these lines which facts
        -- they are
        arg_min(replica, engine_first) AS replica,
        arg_min(queue_s, engine_first) AS queue_s,
        arg_min(prefill_s, engine_first) AS prefill_s,
        arg_min(decode_s, engine_first) AS decode_s,
        arg_min(input_tokens, engine_first) AS input_tokens,
        arg_min(cached_input_tokens, engine_first) AS cached_input_tokens,
        arg_min(cache_write_tokens, engine_first) AS cache_write_tokens,
        -- parallel answers each have their own tokens; they were generated at once, so the longest sets the pace
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
paired AS ( -- the columns of `merged`, in its order
    SELECT
        p.head_id AS attempt_id,
        p.root_id,
        CASE WHEN b.record_id IS NULL THEN [a.record_id] ELSE [a.record_id, b.record_id] END AS record_ids,
        coalesce(a.source_id, b.source_id) AS source,
        coalesce(a.dialect, b.dialect) AS dialect,
        coalesce(a.layer, b.layer) AS layer,
        coalesce(a.trace_id, b.trace_id) AS trace_id,
        coalesce(a.span_id, b.span_id) AS span_id,
        a.parent_span_id,
        coalesce(a.request_key, b.request_key) AS request_key,
        coalesce(a.response_id, b.response_id) AS response_id,
        coalesce(a.call_id, b.call_id) AS call_id,
        a.covers_tries,
        coalesce(a.started_ns, b.started_ns) AS started_ns,
        b.started_ns AS tried_ns,
        coalesce(a.intended_ns, b.intended_ns) AS intended_ns,
        passed_up(coalesce(a.first_token_ns, b.first_token_ns), CASE WHEN b.layer = 'client' THEN b.first_token_ns END,
            coalesce(a.ended_ns, b.ended_ns), a.layer) AS first_token_ns,
        coalesce(a.ended_ns, b.ended_ns) AS ended_ns,
        coalesce(a.tenant, b.tenant) AS tenant,
        coalesce(a.session_id, b.session_id) AS session_id,
        coalesce(a.route, b.route) AS route,
        coalesce(a.pool, b.pool) AS pool,
        coalesce(a.model, b.model) AS model,
        coalesce(a.streamed, b.streamed) AS streamed,
        coalesce(a.itl_p95_s, b.itl_p95_s) AS itl_p95_s,
        coalesce(a.jitter_s, b.jitter_s) AS jitter_s,
        coalesce(
            preferred(outcome_rank(b.covers_tries, b.outcome, p.second_depth) < outcome_rank(a.covers_tries, a.outcome, p.depth),
                nullif(b.outcome, 'unknown'), nullif(a.outcome, 'unknown')),
            'unknown') AS outcome,
        coalesce(a.finish_reason, b.finish_reason) AS finish_reason,
        coalesce(a.error_type, b.error_type) AS error_type,
        coalesce(a.http_status, b.http_status) AS http_status,
        CASE WHEN a.layer = b.layer THEN greatest(a.reported_attempts, b.reported_attempts)
            ELSE multiplied_tries(a.reported_attempts, b.reported_attempts) END AS reported_attempts,
        -- a pair whose head has other tries below it counts them by the second, which is not above them
        CASE WHEN b.layer = 'client' AND NOT coalesce(b.covers_tries, false) THEN b.reported_attempts END AS client_tries,
        CASE WHEN b.layer = 'gateway' AND NOT coalesce(b.covers_tries, false) THEN b.reported_attempts END AS gateway_tries,
        CASE WHEN b.layer = 'engine' THEN b.reported_attempts END AS engine_tries,
        greatest(a.answered_from_cache, b.answered_from_cache) AS answered_from_cache,
        coalesce(a.reported_cost_usd, b.reported_cost_usd) AS reported_cost_usd,
        CASE WHEN a.attributes IS NULL OR b.attributes IS NULL THEN coalesce(a.attributes, b.attributes)
            ELSE merged_attributes([b.attributes, a.attributes]) END AS attributes,
        a.layer = 'engine' OR coalesce(b.layer = 'engine', false) AS engine_seen,
        coalesce(b.address, a.address) AS address,
        CASE WHEN b.address IS NOT NULL THEN b.layer WHEN a.address IS NOT NULL THEN a.layer END AS address_layer,
        preferred(b.layer_rank < a.layer_rank, b.replica, a.replica) AS replica,
        preferred(b.layer_rank < a.layer_rank, b.queue_s, a.queue_s) AS queue_s,
        preferred(b.layer_rank < a.layer_rank, b.prefill_s, a.prefill_s) AS prefill_s,
        preferred(b.layer_rank < a.layer_rank, b.decode_s, a.decode_s) AS decode_s,
        preferred(b.layer_rank < a.layer_rank, b.input_tokens, a.input_tokens) AS input_tokens,
        preferred(b.layer_rank < a.layer_rank, b.cached_input_tokens, a.cached_input_tokens) AS cached_input_tokens,
        preferred(b.layer_rank < a.layer_rank, b.cache_write_tokens, a.cache_write_tokens) AS cache_write_tokens,
        preferred(b.layer_rank < a.layer_rank, b.output_tokens, a.output_tokens) AS output_tokens,
        NULL::BIGINT AS longest_choice_tokens,
        preferred(b.layer_rank < a.layer_rank, b.reasoning_tokens, a.reasoning_tokens) AS reasoning_tokens,
        preferred(b.layer_rank < a.layer_rank, b.draft_tokens, a.draft_tokens) AS draft_tokens,
        preferred(b.layer_rank < a.layer_rank, b.accepted_draft_tokens, a.accepted_draft_tokens) AS accepted_draft_tokens,
        preferred(b.layer_rank < a.layer_rank, b.preemptions, a.preemptions) AS preemptions,
        preferred(b.layer_rank < a.layer_rank, b.recomputed_tokens, a.recomputed_tokens) AS recomputed_tokens
    FROM short AS p
    JOIN ranked AS a ON a.record_id = p.head_id
    LEFT JOIN ranked AS b ON b.record_id = p.second_id
)
SELECT * FROM merged
UNION ALL
SELECT * FROM paired
