-- description: How soon answers began by how much of their prompt was found in a cache (docs/semantics.md#cache-effect)
-- grain: window_start, window_s, pool, model, cached_up_to_ratio
-- reads: attempts, grains, measured_range
-- A band reaches from just above its lower share up to its upper one; attempts of which nothing was found have their own.
WITH found AS (
    SELECT
        ended_ns // 1000000000 AS ended_s,
        coalesce(pool, 'unknown') AS pool, coalesce(model, 'unknown') AS model,
        input_tokens, cached_input_tokens, ttft_s,
        ceil(4 * cached_input_tokens / input_tokens)::INTEGER AS quarter
    FROM attempts
    CROSS JOIN measured_range
    WHERE outcome = 'ok' AND input_tokens > 0 AND cached_input_tokens IS NOT NULL
        AND ended_ns // 1000000000 >= from_s AND ended_ns // 1000000000 < until_s
),
banded AS (
    SELECT
        g.window_s, ended_s // g.window_s * g.window_s AS start_s, pool, model, quarter,
        count(*) AS attempts,
        sum(input_tokens)::BIGINT AS input_tokens,
        sum(cached_input_tokens)::BIGINT AS cached_input_tokens,
        count(ttft_s) AS n_ttft,
        quantile_cont(ttft_s, [0.5, 0.95, 0.99]) AS q_ttft
    FROM found
    CROSS JOIN grains AS g
    GROUP BY ALL
)
SELECT
    make_timestamptz(start_s * 1000000) AS window_start, window_s, pool, model,
    ['none', 'to 25 %', 'to 50 %', 'to 75 %', 'to 100 %'][quarter + 1] AS band,
    greatest(quarter - 1, 0) / 4 AS cached_above_ratio,
    quarter / 4 AS cached_up_to_ratio,
    attempts, input_tokens, cached_input_tokens,
    q_ttft[1] AS p50_ttft_s, q_ttft[2] AS p95_ttft_s, q_ttft[3] AS p99_ttft_s, n_ttft
FROM banded
