-- description: What the histograms of each replica and gateway observed in each window: mean and quantiles (docs/semantics.md#histograms)
-- grain: window_start, window_s, layer, replica, metric
-- reads: histogram_buckets, histogram_steps, replica_grid
WITH observed AS (
    SELECT
        window_s, start_s, layer, replica, metric,
        sum(observed ORDER BY series_id, segment) AS observed,
        sum(total ORDER BY series_id, segment) AS total,
        count(*) FILTER (WHERE total IS NULL) AS untotalled
    FROM histogram_steps
    GROUP BY ALL
),
buckets AS (
    SELECT
        window_s, start_s, layer, replica, metric,
        list(bound ORDER BY bound) AS bounds,
        list(observed ORDER BY bound) AS counts
    FROM histogram_buckets
    GROUP BY ALL
),
ranked AS (
    SELECT
        o.*,
        bucket_quantile(b.bounds, b.counts, o.observed, 0.5) AS p50,
        bucket_quantile(b.bounds, b.counts, o.observed, 0.95) AS p95,
        bucket_quantile(b.bounds, b.counts, o.observed, 0.99) AS p99
    FROM observed AS o
    LEFT JOIN buckets AS b USING (window_s, start_s, layer, replica, metric)
)
SELECT
    make_timestamptz(r.start_s * 1000000) AS window_start, r.window_s, r.layer, r.replica,
    g.pool, g.model,
    r.metric,
    round(r.observed)::BIGINT AS observed,
    CASE WHEN r.untotalled = 0 THEN ratio(r.total, r.observed) END AS mean,
    r.p50.value AS p50, r.p50.low AS p50_low, r.p50.high AS p50_high,
    r.p95.value AS p95, r.p95.low AS p95_low, r.p95.high AS p95_high,
    r.p99.value AS p99, r.p99.low AS p99_low, r.p99.high AS p99_high
FROM ranked AS r
LEFT JOIN replica_grid AS g ON g.window_s = r.window_s AND g.start_s = r.start_s AND g.replica = r.replica AND r.layer = 'engine'
