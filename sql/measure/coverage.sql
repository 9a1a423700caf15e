-- description: How many of the requests that an engine counted have been seen as attempts, by replica and hour
-- grain: window_start, replica
-- reads: attempts, replica_samples
WITH readings AS (
    -- each reading of a replica's count of finished requests, and since when it covers every request
    SELECT
        replica, sampled_ns, sum(increase) AS increase, max(interval_s) AS interval_s,
        sampled_ns - (max(interval_s) * 1e9)::BIGINT AS since_ns
    FROM replica_samples
    WHERE layer = 'engine' AND metric = 'finished_requests' AND increase IS NOT NULL AND interval_s IS NOT NULL
    GROUP BY replica, sampled_ns
),
ended AS (
    SELECT
        replica, pool, model, engine_seen, ended_ns // 3600000000000 AS epoch_hour, count(*) AS attempts
    FROM attempts
    WHERE replica IS NOT NULL AND ended_ns IS NOT NULL
    GROUP BY ALL
),
seen AS (
    SELECT
        epoch_hour, replica,
        sum(attempts) FILTER (WHERE engine_seen) AS attempts_seen,
        sum(attempts) FILTER (WHERE NOT engine_seen) AS attempts_without_engine,
        0 AS attempts_compared,
        list(DISTINCT pool) AS pools, list(DISTINCT model) AS models
    FROM ended
    GROUP BY epoch_hour, replica
),
-- an attempt is counted by the first reading after it ended, even if that is in the next hour
comparable AS (
    SELECT replica, ended_ns FROM attempts WHERE engine_seen AND replica IN (SELECT replica FROM readings)
),
compared AS (
    SELECT r.sampled_ns // 3600000000000 AS epoch_hour, r.replica, count(*) AS attempts_compared
    FROM comparable AS a
    ASOF JOIN readings AS r ON r.replica = a.replica AND r.sampled_ns >= a.ended_ns
    WHERE a.ended_ns > r.since_ns
    GROUP BY ALL
),
live AS (
    SELECT
        sampled_ns // 3600000000000 AS epoch_hour, replica,
        list(DISTINCT pool) AS pools, list(DISTINCT model) AS models
    FROM replica_samples
    WHERE layer = 'engine'
    GROUP BY ALL
),
counted AS (
    SELECT
        sampled_ns // 3600000000000 AS epoch_hour, replica,
        round(sum(increase))::BIGINT AS requests_counted,
        sum(interval_s ORDER BY sampled_ns) AS counted_s
    FROM readings
    GROUP BY ALL
),
reasons AS (
    SELECT
        epoch_hour, replica,
        to_json(map_from_entries(list((coalesce(reason, ''), requests) ORDER BY reason)))::VARCHAR AS counted_by_reason
    FROM (
        SELECT
            sampled_ns // 3600000000000 AS epoch_hour, replica, reason, round(sum(increase))::BIGINT AS requests
        FROM replica_samples
        WHERE layer = 'engine' AND metric = 'finished_requests' AND increase IS NOT NULL AND interval_s IS NOT NULL
        GROUP BY ALL
    )
    GROUP BY ALL
),
merged AS (
    SELECT
        epoch_hour, replica,
        coalesce(sum(attempts_seen), 0)::BIGINT AS attempts_seen,
        coalesce(sum(attempts_without_engine), 0)::BIGINT AS attempts_without_engine,
        coalesce(sum(attempts_compared), 0)::BIGINT AS attempts_compared,
        list_filter(list_distinct(flatten(list(coalesce(pools, [])))), lambda word: word IS NOT NULL) AS pools,
        list_filter(list_distinct(flatten(list(coalesce(models, [])))), lambda word: word IS NOT NULL) AS models
    FROM (SELECT * FROM seen UNION ALL BY NAME SELECT * FROM compared UNION ALL BY NAME SELECT * FROM live)
    GROUP BY epoch_hour, replica
)
SELECT
    make_timestamptz(m.epoch_hour * 3600000000) AS window_start,
    3600 AS window_s,
    m.replica,
    -- where there are several, none is the replica's own
    CASE WHEN len(m.pools) = 1 THEN m.pools[1] END AS pool,
    CASE WHEN len(m.models) = 1 THEN m.models[1] END AS model,
    m.attempts_seen,
    m.attempts_without_engine,
    c.requests_counted,
    r.counted_by_reason,
    c.counted_s,
    CASE WHEN c.requests_counted IS NOT NULL THEN m.attempts_compared END AS attempts_compared,
    ratio(m.attempts_compared, c.requests_counted) AS coverage_ratio,
    ratio(m.attempts_compared, c.requests_counted) < 0.95 AS low_coverage,
    m.epoch_hour
FROM merged AS m
LEFT JOIN counted AS c USING (epoch_hour, replica)
LEFT JOIN reasons AS r USING (epoch_hour, replica)
