-- description: One hour of made serving records: of each request the span of a gateway and, below it, that of an engine
-- grain: record_id
-- unit: one request in fifty fails and is tried again in a trace of its own, under the same request key
SELECT
    md5($hour::VARCHAR || '/' || i::VARCHAR) AS trace_id,
    lpad(hex(2 * i + is_engine::INTEGER + 1), 16, '0').lower() AS span_id,
    trace_id || ':' || span_id AS record_id,
    CASE WHEN is_engine THEN lpad(hex(2 * i + 1), 16, '0').lower() END AS parent_span_id,
    'source-' || i % 16 AS source_id, i + 1 AS line, is_engine::INTEGER AS position,
    CASE WHEN is_engine THEN 'vllm' ELSE 'litellm' END AS dialect,
    CASE WHEN is_engine THEN 'engine' ELSE 'gateway' END AS layer,
    CASE WHEN NOT is_engine THEN 'key-' || $hour || '-' || (i - (i % 50 = 1)::INTEGER) END AS request_key,
    'chatcmpl-' || $hour || '-' || i AS response_id,
    'session-' || $hour || '-' || i // 5 AS session_id,
    NOT is_engine AS covers_tries,
    'llama-' || i % 4 AS model, 'pool-' || i % 8 AS pool, 'route-' || i % 5 AS route,
    CASE WHEN is_engine THEN 'engine-' || i % 64 END AS replica,
    CASE WHEN i % 50 = 0 THEN 'error' ELSE 'ok' END AS outcome,
    true AS streamed,
    $hour * 3600000000000 + (3590.0 * i / $requests * 1e9)::BIGINT AS ended_ns,
    ended_ns - 1000000000 * (1 + i % 17) + is_engine::INTEGER * 1000000 AS started_ns,
    CASE WHEN outcome = 'ok' THEN started_ns + 200000000 + i % 1009 * 700000 END AS first_token_ns,
    500 + i % 1500 AS input_tokens, 100 + i % 400 AS cached_input_tokens, 50 + i % 300 AS output_tokens,
    CASE WHEN is_engine THEN i % 503 / 1e3 END AS queue_s
FROM range($requests) AS r(i)
CROSS JOIN (VALUES (false), (true)) AS layers(is_engine)
ORDER BY i, is_engine
