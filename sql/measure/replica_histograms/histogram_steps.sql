-- description: What each series of a histogram observed in each window, one row for each time that it was read without a break
-- grain: window_s, start_s, series_id, segment
-- reads: grains, measured_range, replica_samples
-- counts_before and counts: observed up to each of bounds when the window, or what came after a break, began and ended
WITH followed AS (
    SELECT
        layer, replica, metric, series_id, sampled_ns, value, increase, total, bucket_bounds, bucket_counts,
        -- all that it shows is new
        increase = value AS anew,
        -- it follows the reading before, in the same buckets
        coalesce(
            abs(value - increase - lag(value) OVER series) < 0.5 AND bucket_bounds = lag(bucket_bounds) OVER series, false
        ) AS follows,
        lag(bucket_counts) OVER series AS counts_before,
        lag(total) OVER series AS total_before
    FROM replica_samples
    WHERE kind = 'histogram'
    WINDOW series AS (PARTITION BY series_id ORDER BY sampled_ns)
),
based AS (
    SELECT
        * EXCLUDE (counts_before, total_before),
        sum(CASE WHEN follows AND NOT anew THEN 0 ELSE 1 END) OVER (PARTITION BY series_id ORDER BY sampled_ns) AS segment,
        CASE
            WHEN anew THEN list_transform(bucket_counts, lambda c: 0.0)
            WHEN follows THEN counts_before
            ELSE bucket_counts
        END AS counts_before,
        CASE WHEN anew THEN 0.0 WHEN follows THEN total_before ELSE total END AS total_before
    FROM followed
)
SELECT
    g.window_s, b.sampled_ns // 1000000000 // g.window_s * g.window_s AS start_s,
    b.layer, b.replica, b.metric, b.series_id, b.segment,
    sum(b.increase ORDER BY b.sampled_ns) FILTER (WHERE b.anew OR b.follows) AS observed,
    arg_max(b.total, b.sampled_ns) - arg_min(b.total_before, b.sampled_ns) AS total,
    any_value(b.bucket_bounds) AS bounds,
    arg_min(b.counts_before, b.sampled_ns) AS counts_before,
    arg_max(b.bucket_counts, b.sampled_ns) AS counts
FROM based AS b
CROSS JOIN grains AS g
CROSS JOIN measured_range AS p
WHERE b.sampled_ns >= p.from_s * 1000000000 AND b.sampled_ns < p.until_s * 1000000000
GROUP BY ALL
HAVING observed IS NOT NULL
