-- description: Increases of each replica's counters by window: a reading's increase counts in the window that it was read in (docs/semantics.md#cache-and-replicas)
-- grain: window_s, start_s, replica
-- reads: grains, replica_renewals, replica_samples
WITH renewals AS (
    SELECT g.window_s, v.sampled_ns // 1000000000 // g.window_s * g.window_s AS start_s, v.replica, count(*) AS renewals
    FROM replica_renewals AS v
    CROSS JOIN grains AS g
    GROUP BY ALL
),
rises AS (
    SELECT replica, metric, series_id, sampled_ns // 1000000000 AS at_s, sampled_ns, increase, reset
    FROM replica_samples
    WHERE layer = 'engine' AND kind = 'counter'
),
summed AS (
    SELECT
        g.window_s, r.at_s // g.window_s * g.window_s AS start_s, r.replica, r.series_id, r.metric,
        sum(r.increase ORDER BY r.sampled_ns) AS increase,
        count(*) FILTER (WHERE r.reset) AS resets
    FROM rises AS r
    CROSS JOIN grains AS g
    GROUP BY ALL
),
counted AS (
    SELECT
        window_s, start_s, replica,
        sum(increase ORDER BY series_id) FILTER (WHERE metric = 'preemptions') AS preemptions,
        sum(increase ORDER BY series_id) FILTER (WHERE metric = 'recomputed_tokens') AS recomputed_tokens,
        sum(increase ORDER BY series_id) FILTER (WHERE metric = 'input_tokens') AS input_tokens,
        sum(increase ORDER BY series_id) FILTER (WHERE metric = 'prefix_cache_queried_tokens') AS queried_tokens,
        sum(increase ORDER BY series_id) FILTER (WHERE metric = 'prefix_cache_hit_tokens') AS hit_tokens,
        sum(increase ORDER BY series_id) FILTER (WHERE metric = 'prefix_cache_queried_blocks') AS queried_blocks,
        sum(increase ORDER BY series_id) FILTER (WHERE metric = 'prefix_cache_hit_blocks') AS hit_blocks,
        sum(increase ORDER BY series_id) FILTER (WHERE metric = 'prefix_cache_missed_blocks') AS missed_blocks,
        -- a restart resets every series, and each of them shows it once
        max(resets) AS resets
    FROM summed
    GROUP BY ALL
)
SELECT
    c.* EXCLUDE (resets, input_tokens, queried_tokens, hit_tokens, queried_blocks, hit_blocks, missed_blocks),
    -- some engines count what the prefix cache gave of all prompt tokens, without a count of queries
    CASE WHEN hit_tokens IS NOT NULL THEN coalesce(queried_tokens, input_tokens) END AS queried_tokens,
    CASE WHEN coalesce(queried_tokens, input_tokens) IS NOT NULL THEN hit_tokens END AS hit_tokens,
    CASE
        WHEN hit_tokens IS NOT NULL AND coalesce(queried_tokens, input_tokens) IS NOT NULL
            THEN ratio(hit_tokens, coalesce(queried_tokens, input_tokens))
        ELSE ratio(hit_blocks, coalesce(queried_blocks, hit_blocks + missed_blocks))
    END AS counted_ratio,
    -- beyond that the counters are not believed
    CASE WHEN counted_ratio <= 1000000 THEN counted_ratio END AS hit_ratio,
    c.resets + coalesce(r.renewals, 0) AS restarts
FROM counted AS c
LEFT JOIN renewals AS r USING (window_s, start_s, replica)
