-- description: The state of each replica in each window: time up and busy, KV cache, queue, preemptions, restarts (docs/semantics.md#cache-and-replicas)
-- grain: window_start, window_s, replica
-- reads: attempt_quantiles, large_partition, replica_counts, replica_gauges, replica_grid, served_attempts
WITH kv AS (SELECT * FROM replica_gauges WHERE metric = 'kv_usage_ratio'),
running AS (SELECT * FROM replica_gauges WHERE metric = 'running_requests'),
waiting AS (SELECT * FROM replica_gauges WHERE metric = 'waiting_requests'),
capacity AS (SELECT * FROM replica_gauges WHERE metric = 'kv_capacity_tokens')
SELECT
    make_timestamptz(r.start_s * 1000000) AS window_start, r.window_s, r.replica, r.pool, r.model,
    r.up_s, r.busy_s,
    coalesce(s.attempts, 0) AS attempts,
    k.mean AS mean_kv_usage_ratio, k.highest AS max_kv_usage_ratio, k.p99 AS p99_kv_usage_ratio, k.last AS last_kv_usage_ratio,
    round(v.last)::BIGINT AS kv_capacity_tokens,
    n.mean AS mean_running_requests, n.highest AS max_running_requests,
    w.mean AS mean_waiting_requests, w.highest AS max_waiting_requests,
    q.q_queue[1] AS p50_queue_s, q.q_queue[2] AS p95_queue_s, coalesce(s.n_queue, 0) AS n_queue,
    q.q_tpot[1] AS p50_tpot_s, coalesce(s.n_tpot, 0) AS n_tpot,
    percentiles_of(is_large) AS percentiles,
    -- the engine's own count includes what no attempt reports; where it was not read, the attempts' reports
    coalesce(round(c.preemptions), s.preemptions)::BIGINT AS preemptions,
    coalesce(round(c.recomputed_tokens), s.recomputed_tokens)::BIGINT AS recomputed_tokens,
    s.input_tokens, coalesce(s.n_input, 0) AS n_input,
    s.long_input_tokens,
    ratio(s.long_input_tokens, s.input_tokens) AS long_context_ratio,
    c.restarts,
    r.appeared,
    CASE WHEN k.metric IS NOT NULL THEN coalesce(k.frozen, false) END AS stale
FROM replica_grid AS r
LEFT JOIN served_attempts AS s USING (window_s, start_s, replica)
LEFT JOIN attempt_quantiles AS q ON q.window_s = r.window_s AND q.start_s = r.start_s AND q.replica = r.replica
LEFT JOIN replica_counts AS c USING (window_s, start_s, replica)
LEFT JOIN kv AS k USING (window_s, start_s, replica)
LEFT JOIN running AS n USING (window_s, start_s, replica)
LEFT JOIN waiting AS w USING (window_s, start_s, replica)
LEFT JOIN capacity AS v USING (window_s, start_s, replica)
CROSS JOIN large_partition
