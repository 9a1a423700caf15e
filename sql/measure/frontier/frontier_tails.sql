-- description: p99 latencies of each load bin, from the bucket counts of its windows
-- grain: slice, name, load_bin
-- reads: frontier_loads, frontier_windows
WITH buckets AS (
    SELECT
        bin_id,
        unnest([
            {metric: 'ttft', buckets: ttft_buckets, counts: ttft_counts},
            {metric: 'tpot', buckets: tpot_buckets, counts: tpot_counts},
            {metric: 'e2e', buckets: e2e_buckets, counts: e2e_counts}
        ], max_depth := 2)
    FROM frontier_windows
    JOIN frontier_loads USING (slice, name, window_start)
),
-- by a number for each bin: there are as many buckets as requests
counted AS (
    SELECT bin_id, metric, bucket, sum(n)::BIGINT AS n
    FROM (SELECT bin_id, metric, unnest(buckets) AS bucket, unnest(counts) AS n FROM buckets)
    GROUP BY ALL
),
ranked AS (
    SELECT
        bin_id, metric, bucket,
        sum(n) OVER (PARTITION BY bin_id, metric ORDER BY bucket) AS upto,
        1 + 0.99 * (sum(n) OVER (PARTITION BY bin_id, metric) - 1) AS rank
    FROM counted
),
tails AS (
    SELECT bin_id, metric, bucket_latency(min(bucket)) AS p99_s
    FROM ranked
    WHERE upto >= rank
    GROUP BY ALL
)
SELECT
    slice, name, load_bin,
    any_value(p99_s) FILTER (WHERE metric = 'ttft') AS p99_ttft_s,
    any_value(p99_s) FILTER (WHERE metric = 'tpot') AS p99_tpot_s,
    any_value(p99_s) FILTER (WHERE metric = 'e2e') AS p99_e2e_s
FROM tails
JOIN (SELECT DISTINCT bin_id, slice, name, load_bin FROM frontier_loads) USING (bin_id)
GROUP BY ALL
