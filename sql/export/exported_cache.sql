-- description: How much of what was looked up in a prefix cache was found, of each pool and model in each window that leaves the lake
-- grain: window_start, window_s, pool, model
-- reads: cache_by_replica, exported_windows
-- unit: hit_ratio: of the replicas, weighted by the tokens that they looked up
SELECT
    c.window_start, c.window_s,
    coalesce(c.pool, 'unknown') AS pool, coalesce(c.model, 'unknown') AS model,
    ratio(
        sum(c.hit_ratio * c.looked_up_tokens ORDER BY c.replica),
        sum(c.looked_up_tokens) FILTER (WHERE c.hit_ratio IS NOT NULL)) AS hit_ratio
FROM cache_by_replica AS c
JOIN exported_windows USING (window_start, window_s)
GROUP BY ALL
