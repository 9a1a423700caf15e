-- description: How much of its input each replica found in its cache, by its attempts and by its own counters (docs/semantics.md#cache-and-replicas)
-- grain: window_start, window_s, replica
-- reads: attempts, cache_options, grains, replica_counts, replica_grid
WITH looked_up AS (
    SELECT
        g.window_s, a.ended_ns // 1000000000 // g.window_s * g.window_s AS start_s, a.replica,
        count(*) AS attempts,
        count(*) FILTER (WHERE cached_input_tokens IS NOT NULL AND input_tokens > 0) AS lookups,
        sum(input_tokens) FILTER (WHERE cached_input_tokens IS NOT NULL) AS input_tokens,
        sum(cached_input_tokens) FILTER (WHERE input_tokens IS NOT NULL) AS cached_input_tokens,
        count(ttft_s) FILTER (WHERE is_hit) AS n_ttft_hit,
        count(ttft_s) FILTER (WHERE NOT is_hit) AS n_ttft_miss,
        quantile_cont(ttft_s, [0.5, 0.95]) FILTER (WHERE is_hit) AS q_hit,
        quantile_cont(ttft_s, [0.5, 0.95]) FILTER (WHERE NOT is_hit) AS q_miss
    FROM (
        SELECT
            t.*,
            -- a few cached tokens, such as those of a chat template, save nobody any time
            CASE WHEN outcome = 'ok' THEN ratio(cached_input_tokens, input_tokens) >= o.hit_min_ratio END AS is_hit
        FROM attempts AS t
        CROSS JOIN cache_options AS o
    ) AS a
    CROSS JOIN grains AS g
    WHERE a.replica IS NOT NULL AND a.ended_ns IS NOT NULL
    GROUP BY ALL
)
SELECT
    make_timestamptz(r.start_s * 1000000) AS window_start, r.window_s, r.replica, r.pool, r.model,
    coalesce(l.attempts, 0) AS attempts,
    coalesce(l.lookups, 0) AS lookups,
    l.input_tokens::BIGINT AS input_tokens,
    l.cached_input_tokens::BIGINT AS cached_input_tokens,
    ratio(l.cached_input_tokens, l.input_tokens) AS attempts_hit_ratio,
    round(c.queried_tokens)::BIGINT AS engine_queried_tokens,
    round(c.hit_tokens)::BIGINT AS engine_hit_tokens,
    c.hit_ratio AS engine_hit_ratio,
    -- attempts are those that somebody traced with their cached tokens; the counters have seen every lookup
    coalesce(engine_hit_ratio, attempts_hit_ratio) AS hit_ratio,
    CASE WHEN engine_hit_ratio IS NOT NULL THEN 'counters' WHEN attempts_hit_ratio IS NOT NULL THEN 'attempts' END AS hit_ratio_from,
    CASE WHEN engine_hit_ratio IS NOT NULL THEN coalesce(engine_queried_tokens, l.input_tokens) ELSE l.input_tokens END::BIGINT
        AS looked_up_tokens,
    attempts_hit_ratio - engine_hit_ratio AS reconciliation_gap,
    l.q_hit[1] AS p50_ttft_hit_s, l.q_hit[2] AS p95_ttft_hit_s, coalesce(l.n_ttft_hit, 0) AS n_ttft_hit,
    l.q_miss[1] AS p50_ttft_miss_s, l.q_miss[2] AS p95_ttft_miss_s, coalesce(l.n_ttft_miss, 0) AS n_ttft_miss
FROM replica_grid AS r
LEFT JOIN looked_up AS l USING (window_s, start_s, replica)
LEFT JOIN replica_counts AS c USING (window_s, start_s, replica)
