-- description: Where p99 rose most, and what stood differently in the same window than in those before it
-- grain: period, choice, place, name
-- reads: cache_by_replica, disruptions, goodput, p99_rises, replica_windows
-- unit: before and now: as written beside them; before: the median of the last 3 windows before
WITH pools AS (
    SELECT r.period, r.choice, CASE WHEN count(DISTINCT g.pool) = 1 THEN any_value(g.pool) END AS pool
    FROM p99_rises AS r
    JOIN goodput AS g
        ON g.window_s = r.drawn_s AND g.window_start = r.peak_at
        AND coalesce(r.workload = g.workload, r.workload IS NULL) AND coalesce(r.model = g.model, r.model IS NULL)
        AND coalesce(r.pool = g.pool, r.pool IS NULL) AND coalesce(r.route = g.route, r.route IS NULL)
    WHERE g.slice = 'finest' AND r.slice_value IS NULL AND g.offered > 0
    GROUP BY r.period, r.choice
),
rises AS (
    SELECT r.* EXCLUDE (pool), r.pool AS of_pool, coalesce(r.pool, o.pool) AS pool
    FROM p99_rises AS r
    LEFT JOIN pools AS o USING (period, choice)
),
windows AS (
    SELECT *, peak_at AS window_start, true AS is_now FROM rises WHERE is_rise
    UNION ALL
    SELECT *, unnest(before_at), false FROM rises WHERE is_rise
),
of_requests AS (
    SELECT w.period, w.choice, w.is_now, w.window_start, w.drawn_s, w.workload, w.pool, w.slice, g.p99_queue_s, g.n_queue, g.arrivals, g.offered, g.failed, g.retry_ratio
    FROM windows AS w
    JOIN goodput AS g
        ON g.window_s = w.drawn_s AND g.window_start = w.window_start AND g.slice = w.slice AND g.slice_value IS NOT DISTINCT FROM w.slice_value
        AND g.workload IS NOT DISTINCT FROM w.workload AND g.model IS NOT DISTINCT FROM w.model
        AND g.pool IS NOT DISTINCT FROM w.of_pool AND g.route IS NOT DISTINCT FROM w.route
),
of_others AS (
    SELECT w.period, w.choice, w.is_now, w.window_start, 1 - any_value(w.arrivals) / nullif(sum(g.arrivals), 0) AS share
    FROM of_requests AS w
    JOIN goodput AS g ON g.window_s = w.drawn_s AND g.window_start = w.window_start AND g.slice = 'workload_pool' AND g.pool = w.pool
    WHERE w.slice = 'workload_pool'
    GROUP BY ALL
),
of_replicas AS (
    SELECT
        w.period, w.choice, w.is_now, w.window_start,
        sum(r.input_tokens) / nullif(sum(r.n_input), 0) AS input_tokens,
        sum(r.long_input_tokens) / nullif(sum(r.input_tokens), 0) AS long_share,
        sum(r.mean_kv_usage_ratio * r.up_s) / nullif(sum(r.up_s) FILTER (WHERE r.mean_kv_usage_ratio IS NOT NULL), 0) AS kv_share,
        sum(r.preemptions) AS preemptions, sum(r.restarts) AS restarts, sum(r.up_s) / any_value(w.drawn_s) AS replicas
    FROM windows AS w
    JOIN replica_windows AS r ON r.window_s = w.drawn_s AND r.window_start = w.window_start AND r.pool = w.pool
    GROUP BY ALL
),
of_caches AS (
    SELECT w.period, w.choice, w.is_now, w.window_start, sum(c.hit_ratio * c.looked_up_tokens) / nullif(sum(c.looked_up_tokens), 0) AS share
    FROM windows AS w
    JOIN cache_by_replica AS c ON c.window_s = w.drawn_s AND c.window_start = w.window_start AND c.pool = w.pool
    GROUP BY ALL
),
values_seen AS (
    SELECT period, choice, is_now, window_start, 6 AS place, CASE WHEN n_queue > 0 THEN p99_queue_s END AS value FROM of_requests
    UNION ALL
    SELECT period, choice, is_now, window_start, 2, arrivals FROM of_requests
    UNION ALL
    SELECT period, choice, is_now, window_start, 3, share FROM of_others
    UNION ALL
    SELECT period, choice, is_now, window_start, 4, input_tokens FROM of_replicas
    UNION ALL
    SELECT period, choice, is_now, window_start, 5, long_share FROM of_replicas
    UNION ALL
    SELECT period, choice, is_now, window_start, 7, share FROM of_caches
    UNION ALL
    SELECT period, choice, is_now, window_start, 8, kv_share FROM of_replicas
    UNION ALL
    SELECT period, choice, is_now, window_start, 9, preemptions FROM of_replicas
    UNION ALL
    SELECT period, choice, is_now, window_start, 10, replicas FROM of_replicas
    UNION ALL
    SELECT period, choice, is_now, window_start, 11, restarts FROM of_replicas
    UNION ALL
    SELECT period, choice, is_now, window_start, 12, retry_ratio FROM of_requests
    UNION ALL
    SELECT period, choice, is_now, window_start, 13, failed / nullif(offered, 0) FROM of_requests
),
compared AS (
    SELECT
        period, choice, place,
        median(value) FILTER (WHERE NOT is_now) AS before, any_value(value) FILTER (WHERE is_now) AS now,
        arg_min(value, window_start) FILTER (WHERE NOT is_now) AS earliest,
        min(value) FILTER (WHERE NOT is_now) AS lowest, max(value) FILTER (WHERE NOT is_now) AS highest
    FROM values_seen
    GROUP BY ALL
    HAVING before IS NOT NULL AND now IS NOT NULL
),
-- moved is what is so many times as much or as little, by at least so much (one replica of many is much), and beyond all of the windows before: what one of them had
-- did not come with the rise. What differs as much from the earliest of them was on its way before
kinds(place, name, form, least_difference, least_times) AS (
    VALUES
        (2, 'requests that arrived', 'count', 10, 1.25), (3, 'share of other workloads', 'share', 0.02, 1.25),
        (4, 'input tokens an attempt', 'count', 10, 1.25), (5, 'share of long contexts', 'share', 0.02, 1.25),
        (6, 'p99 of the queue', 'seconds', 0.05, 1.25), (7, 'input found in cache', 'share', 0.02, 1.25), (8, 'KV cache in use', 'share', 0.02, 1.25),
        (9, 'preemptions', 'count', 10, 1.25), (10, 'replicas up', 'number', 0.5, 1), (11, 'restarts of replicas', 'count', 1, 1.25),
        (12, 'requests tried again', 'share', 0.02, 1.25), (13, 'requests that failed', 'share', 0.02, 1.25)
),
facts AS (
    SELECT
        period, choice, 0 AS place, CASE metric WHEN 'ttft' THEN 'p99 of the first token' ELSE 'p99 of the whole answer' END AS name,
        'seconds' AS form, before_s AS before, p99_s AS now, is_rise AS is_moved, NULL AS earliest, NULL::VARCHAR AS done
    FROM rises
    UNION ALL
    SELECT
        c.period, c.choice, c.place, k.name, k.form, c.before, c.now,
        abs(c.now - c.before) >= k.least_difference AND greatest(c.now, c.before) >= k.least_times * least(c.now, c.before)
            AND (c.now < c.lowest OR c.now > c.highest),
        CASE WHEN abs(c.now - c.earliest) >= k.least_difference AND greatest(c.now, c.earliest) >= k.least_times * least(c.now, c.earliest) THEN c.earliest END,
        NULL
    FROM compared AS c
    JOIN kinds AS k USING (place)
    UNION ALL
    -- what was done to the pool, from the window before it began on
    SELECT DISTINCT
        r.period, r.choice, 1, replace(d.kind, '_', ' ') || ' of ' || coalesce(d.pool, 'the fleet') || coalesce(' ' || d.replica, '')
            || strftime(d.occurred_at AT TIME ZONE 'UTC', ' at %H:%M'),
        'none', NULL, NULL, true, NULL,
        CASE WHEN d.occurred_at >= r.peak_at THEN 'in the window'
            ELSE format('{} min before', ceil(date_diff('second', d.occurred_at, r.peak_at) / 60)::BIGINT) END
    FROM rises AS r
    JOIN disruptions AS d
        ON coalesce(d.pool = r.pool, true)
        AND d.occurred_at >= r.began_at - to_seconds(r.drawn_s) AND d.occurred_at < r.peak_at + to_seconds(r.drawn_s)
    WHERE r.is_rise
),
worded AS (
    -- what was on its way is beside the earliest, all else beside the median
    SELECT *, CASE WHEN NOT is_moved AND earliest IS NOT NULL THEN earliest ELSE before END AS base, list_transform([before, now, earliest], lambda value: CASE form
            WHEN 'seconds' THEN format('{:.3g} s', value)
            WHEN 'share' THEN format('{:.1f} %', 100 * value)
            WHEN 'number' THEN format('{:.1f}', value)
            WHEN 'count' THEN format('{:,.0f}', value)
        END) AS says
    FROM facts
)
SELECT
    f.period, f.choice, r.peak_at AS at, r.began_at, r.over_at, r.slice, r.slice_value, r.workload, r.model, r.of_pool AS pool, r.route,
    r.metric, format('{:.3g} s', r.p99_s) AS p99_says, format('{:.3g} s', r.before_s) AS usual_says, r.is_rise, r.windows_before, r.n,
    f.place, f.name, f.says[1] AS before_says, f.says[2] AS now_says, f.is_moved, CASE WHEN NOT f.is_moved THEN f.says[3] END AS earliest_says, f.done,
    CASE WHEN f.place BETWEEN 1 AND 5 THEN 'came' ELSE 'showed' END AS side,
    r.before_at[1] AS earliest_at, r.other_rises,
    -- an operation has no size, and of nothing there is no multiple
    CASE
        WHEN NOT r.is_rise THEN NULL
        WHEN f.now = f.base OR f.done IS NOT NULL OR f.now = 0 OR f.base = 0 THEN 1
        -- no bar has room for more than a hundredfold
        ELSE greatest(0.01, least(100, f.now / f.base))
    END AS times,
    r.is_rise AND f.now <> f.base AND (f.now = 0 OR f.base = 0) AS is_of_nothing
FROM worded AS f
JOIN rises AS r USING (period, choice)
ORDER BY ALL
