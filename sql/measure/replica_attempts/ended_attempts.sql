-- description: Attempts that ended in the time that is measured, with how much of their prompt was found in a cache
-- grain: attempt_id
-- reads: attempts, cache_options, measured_range
-- unit: quarter: of the prompt, rounded up: 0 is nothing of it, 4 more than three quarters
-- kind: view
SELECT
    ended_ns // 1000000000 AS ended_s, replica, pool, model,
    input_tokens, cached_input_tokens, preemptions, recomputed_tokens, ttft_s, queue_s, tpot_s,
    -- a few cached tokens, such as those of a chat template, save nobody any time
    CASE WHEN outcome = 'ok' THEN ratio(cached_input_tokens, input_tokens) >= o.hit_min_ratio END AS is_hit,
    CASE WHEN outcome = 'ok' AND input_tokens > 0 THEN ceil(4 * cached_input_tokens / input_tokens)::INTEGER END AS quarter
FROM attempts
CROSS JOIN cache_options AS o
CROSS JOIN measured_range
WHERE ended_ns // 1000000000 >= from_s AND ended_ns // 1000000000 < until_s
