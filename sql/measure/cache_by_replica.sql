-- description: How much of its input each replica found in its cache, by its attempts and by its own counters (docs/semantics.md#cache-and-replicas)
-- grain: window_start, window_s, replica
-- reads: attempt_quantiles, large_partition, replica_counts, replica_grid, served_attempts
SELECT
    make_timestamptz(r.start_s * 1000000) AS window_start, r.window_s, r.replica, r.pool, r.model,
    coalesce(l.attempts, 0) AS attempts,
    coalesce(l.lookups, 0) AS lookups,
    l.looked_up_tokens AS input_tokens,
    l.cached_input_tokens,
    ratio(l.cached_input_tokens, l.looked_up_tokens) AS attempts_hit_ratio,
    round(c.queried_tokens)::BIGINT AS engine_queried_tokens,
    round(c.hit_tokens)::BIGINT AS engine_hit_tokens,
    c.hit_ratio AS engine_hit_ratio,
    -- attempts are those that somebody traced with their cached tokens; the counters have seen every lookup
    coalesce(engine_hit_ratio, attempts_hit_ratio) AS hit_ratio,
    CASE WHEN engine_hit_ratio IS NOT NULL THEN 'counters' WHEN attempts_hit_ratio IS NOT NULL THEN 'attempts' END AS hit_ratio_from,
    CASE WHEN engine_hit_ratio IS NOT NULL THEN coalesce(engine_queried_tokens, l.looked_up_tokens) ELSE l.looked_up_tokens END::BIGINT
        AS looked_up_tokens,
    attempts_hit_ratio - engine_hit_ratio AS reconciliation_gap,
    q.q_ttft_hit[1] AS p50_ttft_hit_s, q.q_ttft_hit[2] AS p95_ttft_hit_s, coalesce(l.n_ttft_hit, 0) AS n_ttft_hit,
    q.q_ttft_miss[1] AS p50_ttft_miss_s, q.q_ttft_miss[2] AS p95_ttft_miss_s, coalesce(l.n_ttft_miss, 0) AS n_ttft_miss,
    percentiles_of(is_large) AS percentiles
FROM replica_grid AS r
LEFT JOIN served_attempts AS l USING (window_s, start_s, replica)
LEFT JOIN attempt_quantiles AS q ON q.window_s = r.window_s AND q.start_s = r.start_s AND q.replica = r.replica
LEFT JOIN replica_counts AS c USING (window_s, start_s, replica)
CROSS JOIN large_partition
