-- description: Counts and tokens of attempts that ended in each step, by where they were served and how much of their prompt was found in a cache
-- grain: step_start_s, replica, pool, model, quarter
-- reads: context_options, ended_attempts, longest_step
-- Counts of one step, from whichever attempts, add up.
SELECT
    ended_s // step_s * step_s AS step_start_s, replica, pool, model, quarter,
    count(*) AS attempts,
    count(*) FILTER (WHERE cached_input_tokens IS NOT NULL AND input_tokens > 0) AS lookups,
    sum(input_tokens) FILTER (WHERE cached_input_tokens IS NOT NULL)::BIGINT AS looked_up_tokens,
    sum(cached_input_tokens) FILTER (WHERE input_tokens IS NOT NULL)::BIGINT AS cached_input_tokens,
    count(ttft_s) AS n_ttft,
    count(ttft_s) FILTER (WHERE is_hit) AS n_ttft_hit,
    count(ttft_s) FILTER (WHERE NOT is_hit) AS n_ttft_miss,
    sum(preemptions)::BIGINT AS preemptions,
    sum(recomputed_tokens)::BIGINT AS recomputed_tokens,
    sum(input_tokens)::BIGINT AS input_tokens, count(input_tokens) AS n_input,
    sum(CASE WHEN input_tokens >= long_context_tokens THEN input_tokens ELSE 0 * input_tokens END)::BIGINT AS long_input_tokens,
    count(queue_s) AS n_queue,
    count(tpot_s) AS n_tpot
FROM ended_attempts
CROSS JOIN context_options
CROSS JOIN longest_step
GROUP BY ALL
