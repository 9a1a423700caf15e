-- description: Work that a replica's counters report and attempts may not, by window
-- grain: replica, step_s
-- reads: ledger_options, replica_samples, target_hours
-- unit: tokens; an increase is spread evenly over the interval that its reading covers
WITH increases AS (
    SELECT metric, replica, increase, interval_s, sampled_ns - (interval_s * 1e9)::BIGINT AS from_ns, sampled_ns AS to_ns
    FROM replica_samples
    WHERE layer = 'engine' AND metric IN (
            'preemptions', 'recomputed_tokens', 'draft_tokens', 'accepted_draft_tokens', 'prefix_cache_queried_tokens',
            'prefix_cache_hit_tokens'
        ) AND increase > 0
        AND interval_s > 0
),
split AS (
    SELECT t.*, o.step_ns, unnest(range(from_ns // step_ns, (to_ns - 1) // step_ns + 1)) AS step
    FROM increases AS t
    CROSS JOIN ledger_options AS o
),
recompute_counters AS (
    SELECT DISTINCT replica, sampled_ns // 3600000000000 AS epoch_hour
    FROM replica_samples
    WHERE layer = 'engine' AND metric = 'recomputed_tokens'
),
shared AS (
    SELECT
        replica, metric, interval_s, step * step_ns // 1000000000 AS step_s,
        increase * (least(to_ns, (step + 1) * step_ns) - greatest(from_ns, step * step_ns)) / (to_ns - from_ns) AS tokens
    FROM split
    WHERE step * step_ns // 3600000000000 IN (SELECT epoch_hour FROM target_hours)
)
SELECT
    s.replica, s.step_s,
    coalesce(sum_steady(CASE WHEN metric = 'recomputed_tokens' THEN tokens END), 0) AS recomputed_tokens,
    coalesce(sum_steady(CASE WHEN metric = 'draft_tokens' THEN tokens END), 0) AS draft_tokens,
    greatest(0, coalesce(sum_steady(CASE metric WHEN 'draft_tokens' THEN tokens WHEN 'accepted_draft_tokens' THEN -tokens END), 0))
        AS rejected_tokens,
    -- how often prompts were recomputed, where nothing counts how many tokens
    CASE WHEN any_value(t.replica) IS NULL
        THEN coalesce(sum_steady(CASE WHEN metric = 'preemptions' THEN tokens END), 0) ELSE 0 END AS preemptions,
    -- prompts that were started, whatever became of them
    sum_steady(CASE WHEN metric = 'prefix_cache_queried_tokens' THEN tokens END) AS begun_tokens,
    coalesce(sum_steady(CASE WHEN metric = 'prefix_cache_hit_tokens' THEN tokens END), 0) AS begun_cached_tokens,
    max(interval_s) AS interval_s
FROM shared AS s
LEFT JOIN recompute_counters AS t ON t.replica = s.replica AND t.epoch_hour = s.step_s // 3600
GROUP BY s.replica, s.step_s
