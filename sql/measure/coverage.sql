-- description: How many of the requests that an engine counted have been seen as attempts, by replica and hour (docs/semantics.md#coverage)
-- grain: window_start, replica
-- reads: attempts, replica_samples
WITH live AS (
    SELECT
        sampled_ns // 3600000000000 AS epoch_hour, replica,
        list(DISTINCT pool) AS pools, list(DISTINCT model) AS models
    FROM replica_samples
    WHERE layer = 'engine'
    GROUP BY ALL
),
counters AS (
    -- each reading of a replica's counts of requests, by the counter and why they ended
    SELECT replica, metric AS counter, sampled_ns, reason, increase, interval_s
    FROM replica_samples
    WHERE metric IN ('finished_requests', 'http_requests') AND increase IS NOT NULL AND interval_s IS NOT NULL
        AND (layer = 'engine' OR layer = 'process' AND (replica, sampled_ns // 3600000000000) IN (SELECT (replica, epoch_hour) FROM live))
),
-- the counter that counted the most misses the fewest: an engine's own may leave out what its client gave up
best AS (
    SELECT
        sampled_ns // 3600000000000 AS epoch_hour, replica,
        arg_max(counter, (requests, counter)) AS counter
    FROM (
        SELECT replica, counter, any_value(sampled_ns) AS sampled_ns, round(sum(increase)) AS requests
        FROM counters
        GROUP BY replica, counter, sampled_ns // 3600000000000
    )
    GROUP BY ALL
),
counting AS (
    SELECT c.* FROM counters AS c JOIN best AS b
        ON b.replica = c.replica AND b.counter = c.counter AND b.epoch_hour = c.sampled_ns // 3600000000000
),
readings AS (
    -- each reading of that counter, and since when it covers every request
    SELECT
        replica, counter, sampled_ns, sum(increase) AS increase, max(interval_s) AS interval_s,
        sampled_ns - (max(interval_s) * 1e9)::BIGINT AS since_ns
    FROM counting
    GROUP BY replica, counter, sampled_ns
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
        0 AS attempts_compared, 0 AS attempts_observed,
        list(DISTINCT pool) AS pools, list(DISTINCT model) AS models
    FROM ended
    GROUP BY epoch_hour, replica
),
-- an attempt is counted by the first reading after it ended, even if that is in the next hour; a web server counts a stream
-- when it sends its headers, before the first token
comparable AS (
    SELECT
        a.replica, r.counter, a.engine_seen, a.outcome,
        CASE WHEN r.counter = 'http_requests' AND coalesce(a.streamed, a.first_token_ns IS NOT NULL)
            THEN a.started_ns ELSE a.ended_ns END AS counted_ns
    FROM attempts AS a
    JOIN (SELECT DISTINCT replica, counter FROM readings) AS r USING (replica)
    WHERE a.ended_ns IS NOT NULL
),
compared AS (
    SELECT
        r.sampled_ns // 3600000000000 AS epoch_hour, r.replica,
        count(*) FILTER (WHERE engine_seen) AS attempts_compared,
        -- of a caller's attempts that failed, only a server's count of all that was sent to it is sure to have them
        count(*) FILTER (WHERE engine_seen OR r.counter = 'http_requests' OR outcome = 'ok') AS attempts_observed
    FROM comparable AS a
    ASOF JOIN readings AS r ON r.replica = a.replica AND r.counter = a.counter AND r.sampled_ns >= a.counted_ns
    WHERE a.counted_ns > r.since_ns
    GROUP BY ALL
),
counted AS (
    SELECT
        sampled_ns // 3600000000000 AS epoch_hour, replica,
        round(sum(increase))::BIGINT AS requests_counted,
        sum(interval_s ORDER BY sampled_ns) AS counted_s,
        any_value(counter) AS counter
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
        FROM counting
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
        coalesce(sum(attempts_observed), 0)::BIGINT AS attempts_observed,
        list_filter(list_distinct(flatten(list(coalesce(pools, [])))), lambda word: word IS NOT NULL) AS pools,
        list_filter(list_distinct(flatten(list(coalesce(models, [])))), lambda word: word IS NOT NULL) AS models
    FROM (SELECT * FROM seen UNION ALL BY NAME SELECT * FROM compared UNION ALL BY NAME SELECT * FROM live)
    GROUP BY epoch_hour, replica
),
served_pools AS (
    SELECT DISTINCT epoch_hour, unnest(pools) AS pool FROM live
),
-- attempts that only a caller knows, who names no replica, or one that no engine's telemetry knows: an address, say. What went to a pool
-- of which no replica has metrics, such as to a provider, is in no counter.
unplaced AS (
    SELECT
        ended_ns // 3600000000000 AS epoch_hour,
        count(*) FILTER (WHERE outcome = 'ok') AS answered,
        -- a stream that broke was answered with 200, and counted, before it did
        count(*) FILTER (WHERE outcome IN ('ok', 'cancelled', 'timeout') OR http_status = 200) AS sent
    FROM attempts
    WHERE ended_ns IS NOT NULL AND NOT coalesce(engine_seen, false)
        AND (replica IS NULL OR (replica, ended_ns // 3600000000000) NOT IN (SELECT (replica, epoch_hour) FROM live))
        AND (
            pool IS NULL
            OR (pool, ended_ns // 3600000000000) IN (SELECT (pool, epoch_hour) FROM served_pools)
            OR ended_ns // 3600000000000 IN (SELECT epoch_hour FROM live WHERE len(list_filter(pools, lambda p: p IS NOT NULL)) = 0)
        )
    GROUP BY ALL
),
missing AS (
    SELECT
        c.epoch_hour, c.replica,
        greatest(0, c.requests_counted - m.attempts_observed) AS unseen,
        sum(unseen) OVER (PARTITION BY c.epoch_hour) AS unseen_by_all,
        coalesce(CASE c.counter WHEN 'http_requests' THEN u.sent ELSE u.answered END, 0) AS unplaced
    FROM counted AS c
    JOIN merged AS m USING (epoch_hour, replica)
    LEFT JOIN unplaced AS u USING (epoch_hour)
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
    c.counter,
    c.requests_counted,
    r.counted_by_reason,
    c.counted_s,
    CASE WHEN c.requests_counted IS NOT NULL THEN m.attempts_compared END AS attempts_compared,
    ratio(m.attempts_compared, c.requests_counted) AS coverage_ratio,
    ratio(m.attempts_compared, c.requests_counted) < 0.95 AS low_coverage,
    -- each replica has its share of what nothing places
    round(u.unseen * greatest(0, 1 - coalesce(ratio(u.unplaced, u.unseen_by_all), 0)))::BIGINT AS requests_unobserved,
    m.epoch_hour
FROM merged AS m
LEFT JOIN counted AS c USING (epoch_hour, replica)
LEFT JOIN reasons AS r USING (epoch_hour, replica)
LEFT JOIN missing AS u USING (epoch_hour, replica)
