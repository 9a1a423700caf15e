-- description: One hour of made requests in the columns that `goodput` needs of them; the same rows for the same parameters
-- grain: request_key
WITH drawn AS (
    SELECT
        hash(16 * i + 1) / 18446744073709551616.0 AS u_end,
        hash(16 * i + 2) / 18446744073709551616.0 AS u_queue,
        hash(16 * i + 3) / 18446744073709551616.0 AS u_prefill,
        hash(16 * i + 4) / 18446744073709551616.0 AS u_pace,
        hash(16 * i + 5) / 18446744073709551616.0 AS u_length,
        hash(16 * i + 6) / 18446744073709551616.0 AS u_fails,
        hash(16 * i + 7) / 18446744073709551616.0 AS u_retries,
        hash(16 * i + 8) / 18446744073709551616.0 AS u_labelled,
        hash(16 * i + 9) / 18446744073709551616.0 AS u_passes,
        hash(16 * i + 10) % 100 AS kind,
        hash(16 * i + 11) AS place,
        hash(16 * i + 12) AS trace,
        hash(16 * i + 13) AS span
    FROM range($hour::BIGINT * 100000000, $hour::BIGINT * 100000000 + $requests) AS t (i)
),
served AS (
    SELECT
        *,
        CASE WHEN kind < 55 THEN 'chat' WHEN kind < 85 THEN 'rag' ELSE 'batch' END AS workload,
        u_fails > 0.015 AS succeeded,
        CASE WHEN u_retries < 0.02 THEN 1 ELSE 0 END AS retry_count,
        -ln(1 - u_queue) * 0.06 AS queue_s,
        (1 - ln(1 - u_length) * 220)::BIGINT AS output_tokens,
        (50 + u_prefill * 4000)::BIGINT AS input_tokens
    FROM drawn
),
timed AS (
    SELECT
        *,
        CASE WHEN succeeded THEN queue_s + 0.04 + u_prefill * 0.9 END AS ttft_s,
        CASE WHEN succeeded AND output_tokens > 1 THEN 0.012 + u_pace * u_pace * 0.045 END AS tpot_s
    FROM served
),
gated AS (
    SELECT
        *,
        CASE WHEN succeeded THEN ttft_s + coalesce(tpot_s * (output_tokens - 1), 0) ELSE queue_s + 0.5 END AS e2e_s,
        workload <> 'batch' AS has_quality,
        CASE WHEN workload <> 'batch' THEN retry_count <= 1 END AS pass_retries,
        CASE workload WHEN 'chat' THEN ttft_s <= 0.8 WHEN 'rag' THEN ttft_s <= 1.0 END AS pass_ttft,
        CASE WHEN workload <> 'batch' THEN tpot_s <= 0.05 END AS pass_tpot,
        CASE WHEN u_labelled < 0.3 THEN u_passes < 0.92 END AS judged
    FROM timed
),
ended AS (
    SELECT *, make_timestamptz(($hour::BIGINT * 3600000000 + u_end * 3600000000)::BIGINT) AS ended_at FROM gated
)
SELECT
    format('{:016x}{:016x}:{:016x}', trace, span, place) AS request_key,
    workload,
    ended_at - to_microseconds((e2e_s * 1000000)::BIGINT) AS arrived_at,
    ended_at,
    (retry_count + 1)::INTEGER AS attempts,
    retry_count::BIGINT AS retry_count,
    request_key AS delivering_attempt_id,
    'llm-' || (place % 3) AS model,
    'pod-' || (place % 48) AS replica,
    'pool-' || (place % 6) AS pool,
    'route-' || (place // 6 % 4) AS route,
    true AS streamed,
    ttft_s, e2e_s, tpot_s, queue_s,
    input_tokens,
    CASE WHEN succeeded THEN output_tokens END AS output_tokens,
    CASE WHEN succeeded THEN 'ok' ELSE 'error' END AS outcome,
    succeeded AS pass_success,
    pass_retries, pass_ttft, pass_tpot,
    CASE WHEN has_quality THEN judged END AS pass_quality,
    has_quality AND succeeded AND pass_ttft AND coalesce(pass_tpot, true) AS needs_label,
    has_quality AND succeeded AND output_tokens <= 1 AS tpot_na,
    CASE
        WHEN NOT succeeded THEN 'success'
        WHEN pass_ttft = false AND pass_tpot IS DISTINCT FROM false AND judged IS DISTINCT FROM false THEN 'ttft'
        WHEN pass_tpot = false AND pass_ttft AND judged IS DISTINCT FROM false THEN 'tpot'
        WHEN has_quality AND pass_ttft AND coalesce(pass_tpot, true) AND judged = false THEN 'quality'
    END AS sole_failing_gate,
    CASE
        WHEN NOT succeeded THEN 'failed'
        WHEN pass_ttft = false OR pass_tpot = false THEN 'slow'
        WHEN has_quality AND judged = false THEN 'rejected'
        WHEN has_quality AND judged IS NULL THEN 'unlabelled'
        ELSE 'accepted'
    END AS verdict
FROM ended
