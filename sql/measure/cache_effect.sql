-- description: How soon answers began by how much of their prompt was found in a cache (docs/semantics.md#cache-effect)
-- grain: window_start, window_s, pool, model, cached_up_to_ratio
-- reads: attempt_quantiles, grains, large_partition, step_attempts
-- A band reaches from just above its lower share up to its upper one; attempts of which nothing was found have their own.
WITH banded AS (
    SELECT
        window_s, step_start_s // window_s * window_s AS start_s,
        coalesce(pool, 'unknown') AS pool, coalesce(model, 'unknown') AS model, quarter,
        sum(attempts)::BIGINT AS attempts,
        sum(input_tokens)::BIGINT AS input_tokens,
        sum(cached_input_tokens)::BIGINT AS cached_input_tokens,
        sum(n_ttft)::BIGINT AS n_ttft
    FROM step_attempts
    CROSS JOIN grains
    WHERE quarter IS NOT NULL
    GROUP BY ALL
)
SELECT
    make_timestamptz(b.start_s * 1000000) AS window_start, b.window_s, b.pool, b.model,
    ['none', 'to 25 %', 'to 50 %', 'to 75 %', 'to 100 %'][b.quarter + 1] AS band,
    greatest(b.quarter - 1, 0) / 4 AS cached_above_ratio,
    b.quarter / 4 AS cached_up_to_ratio,
    attempts, input_tokens, cached_input_tokens,
    q.q_ttft[1] AS p50_ttft_s, q.q_ttft[2] AS p95_ttft_s, q.q_ttft[3] AS p99_ttft_s, n_ttft,
    percentiles_of(is_large) AS percentiles
FROM banded AS b
LEFT JOIN attempt_quantiles AS q
    ON q.window_s = b.window_s AND q.start_s = b.start_s AND q.pool = b.pool AND q.model = b.model AND q.quarter = b.quarter
CROSS JOIN large_partition
