-- description: Each replica's gauges by window: mean over time, maximum, p99, last, and whether they froze while it served (docs/semantics.md#cache-and-replicas)
-- grain: window_s, start_s, replica, metric
-- reads: busy_spans, grains, measured_range, replica_samples, sample_options
WITH readings AS (
    -- engines that share one process: their requests add up, but the fullest cache counts
    SELECT
        replica, metric, sampled_ns,
        CASE WHEN metric LIKE '%_ratio' THEN avg(value) ELSE sum(value) END AS value,
        CASE WHEN metric LIKE '%_ratio' THEN max(value) ELSE sum(value) END AS highest
    FROM replica_samples
    WHERE layer = 'engine' AND kind = 'gauge'
    GROUP BY replica, metric, sampled_ns
),
held AS (
    -- a reading holds until the next one, unless that is further away than staleness_s
    SELECT
        r.*,
        o.staleness_ns,
        CASE
            WHEN lead(r.sampled_ns) OVER gauge - r.sampled_ns <= o.staleness_ns THEN lead(r.sampled_ns) OVER gauge
            ELSE r.sampled_ns
        END AS until_ns
    FROM readings AS r
    CROSS JOIN sample_options AS o
    WINDOW gauge AS (PARTITION BY replica, metric ORDER BY sampled_ns)
),
-- decoding fills the cache token by token: a gauge that reads the same three times, over at least half of staleness_s and
-- each time with attempts in flight, is no longer updated
frozen AS (
    SELECT
        replica, metric, sampled_ns,
        min(highest) OVER lately = max(highest) OVER lately
            AND count(*) OVER lately >= 3
            AND 2 * (sampled_ns - min(sampled_ns) OVER lately) >= staleness_ns AS frozen
    FROM (
        SELECT h.*
        FROM held AS h
        ASOF JOIN busy_spans AS b ON b.replica = h.replica AND h.sampled_ns >= b.from_ns
        WHERE h.sampled_ns < b.until_ns AND h.metric = 'kv_usage_ratio'
    )
    WINDOW lately AS (
        PARTITION BY replica, metric ORDER BY sampled_ns RANGE BETWEEN staleness_ns PRECEDING AND CURRENT ROW)
),
pieces AS (
    SELECT
        h.replica, h.metric, h.sampled_ns, h.value, h.highest, h.until_ns, g.window_s, f.frozen,
        unnest(range(
            greatest(h.sampled_ns // 1000000000, p.from_s) // g.window_s * g.window_s,
            least(h.until_ns // 1000000000, p.until_s - 1) + 1,
            g.window_s)) AS start_s
    FROM held AS h
    CROSS JOIN grains AS g
    CROSS JOIN measured_range AS p
    LEFT JOIN frozen AS f USING (replica, metric, sampled_ns)
    WHERE h.until_ns >= p.from_s * 1000000000 AND h.sampled_ns < p.until_s * 1000000000
),
clipped AS (
    SELECT
        *,
        sampled_ns >= start_s * 1000000000 AS read_here,
        least(until_ns, (start_s + window_s) * 1000000000) - greatest(sampled_ns, start_s * 1000000000) AS held_ns
    FROM pieces
)
SELECT
    window_s, start_s, replica, metric,
    coalesce(ratio(sum(value * held_ns ORDER BY sampled_ns), sum(held_ns)), avg(value)) AS mean,
    max(highest) AS highest,
    quantile_cont(highest, 0.99) AS p99,
    arg_max(value, sampled_ns) AS last,
    bool_or(frozen AND read_here) AS frozen
FROM clipped
WHERE held_ns > 0 OR read_here
GROUP BY ALL
