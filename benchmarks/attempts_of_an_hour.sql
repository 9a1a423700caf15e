-- description: One hour of made attempts, each of a request of its own, in the columns that measuring reads of either
-- grain: attempt_id
-- unit: one attempt in twenty is superseded; sessions have five requests
SELECT
    $hour::BIGINT AS hour,
    md5($hour::VARCHAR || '/' || i::VARCHAR) AS attempt_id,
    attempt_id AS request_key,
    attempt_id AS delivering_attempt_id,
    'session-' || $hour || '-' || i // 5 AS session_id,
    ['chat', 'rag', 'batch'][1 + i % 3] AS workload,
    'llama-' || i % 4 AS model,
    'pool-' || i % 8 AS pool,
    'engine-' || i % 64 AS replica,
    'route-' || i % 5 AS route,
    CASE WHEN i % 50 = 0 THEN 'error' ELSE 'ok' END AS outcome,
    ['accepted', 'accepted', 'accepted', 'slow', 'failed'][1 + i % 5] AS verdict,
    i % 20 > 0 AS delivered, true AS engine_seen, true AS streamed,
    1 AS attempts, 0 AS retry_count,
    $hour * 3600000000000 + (3590.0 * i / $attempts * 1e9)::BIGINT AS ended_ns,
    ended_ns - 1000000000 * (1 + i % 17) AS started_ns,
    started_ns + 200000000 + i % 1009 * 1000000 AS first_token_ns,
    make_timestamptz(started_ns // 1000) AS arrived_at,
    make_timestamptz(ended_ns // 1000) AS ended_at,
    500 + i % 1500 AS input_tokens, 100 + i % 400 AS cached_input_tokens, 50 + i % 300 AS output_tokens,
    i % 7 AS recomputed_tokens, 30 AS draft_tokens, 20 AS accepted_draft_tokens, i % 11 // 10 AS preemptions,
    (first_token_ns - started_ns) / 1e9 AS ttft_s,
    (ended_ns - started_ns) / 1e9 AS e2e_s,
    (ended_ns - first_token_ns) / 1e9 / (output_tokens - 1) AS tpot_s,
    i % 503 / 1e3 AS queue_s,
    verdict <> 'failed' AS pass_success, true AS pass_retries, verdict <> 'slow' AS pass_ttft, true AS pass_tpot,
    CASE verdict WHEN 'slow' THEN 'ttft' WHEN 'failed' THEN 'success' END AS sole_failing_gate,
    false AS needs_label, false AS tpot_na,
    NULL::DOUBLE AS cost_usd
FROM range($attempts) AS r(i)
