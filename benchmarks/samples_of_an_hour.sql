-- description: What 64 made engines say of themselves in an hour: a reading in five minutes of a gauge and three counters
-- grain: series_id, sampled_ns
SELECT
    metric || '@' || e AS series_id,
    'engine-' || e AS replica, 'pool-' || e % 8 AS pool, 'engine' AS layer,
    metric, kind,
    $hour * 3600000000000 + reading * 300000000000 AS sampled_ns,
    make_timestamptz(sampled_ns // 1000) AS sampled_at,
    (reading * 37 + e) % 101 / 101 AS value,
    CASE WHEN kind = 'counter' THEN 10.0 + (reading + e) % 7 END AS increase,
    CASE WHEN kind = 'counter' THEN 300.0 END AS interval_s,
    false AS reset
FROM range(12) AS t(reading)
CROSS JOIN range(64) AS r(e)
CROSS JOIN (VALUES
    ('kv_usage_ratio', 'gauge'), ('finished_requests', 'counter'),
    ('prefix_cache_queried_tokens', 'counter'), ('prefix_cache_hit_tokens', 'counter')
) AS m(metric, kind)
