-- description: Goodput by offered load per replica, by route and by pool, with the highest load that is still served well (semantics 8)
-- grain: slice, pool, route, load_bin
-- reads: goodput, load_windows, workload_rules
-- Loads between the least and the most observed that never occurred are rows with no windows, one for each gap.
WITH recent AS (
    SELECT * FROM load_windows
    WHERE window_start > (SELECT max(window_start) FROM load_windows) - INTERVAL 7 DAY
),
sliced AS (
    SELECT 'route' AS slice, route AS cut, * FROM recent
    UNION ALL
    SELECT 'pool' AS slice, pool AS cut, * FROM recent
),
loads AS (
    SELECT
        *,
        arrivals / window_s / greatest(replicas, 1) AS load_rps,
        -- twenty bins to a decade, each 12 % wide, wherever the loads lie
        floor(20 * log10(load_rps) + 1e-9)::INTEGER AS load_bin
    FROM (
        SELECT
            slice, cut, window_start, window_s,
            len(list_distinct(flatten(list(replicas)))) AS replicas,
            sum(arrivals)::BIGINT AS arrivals
        FROM sliced
        GROUP BY ALL
    )
),
binned AS (
    SELECT s.*, l.load_bin FROM sliced AS s JOIN loads AS l USING (slice, cut, window_start)
),
strata AS (
    SELECT
        b.slice, b.cut, b.load_bin, b.workload,
        coalesce(any_value(w.unlabelled), 'estimate') AS policy,
        sum(b.need)::BIGINT AS need,
        sum(b.labelled)::BIGINT AS labelled,
        ratio(sum(b.accepted), sum(b.labelled)) AS pass_rate
    FROM binned AS b
    LEFT JOIN workload_rules AS w USING (workload)
    GROUP BY ALL
),
points AS (
    SELECT
        b.slice, b.cut, b.load_bin, b.window_start,
        sum(accepted_estimate(t.policy, b.accepted, b.need, b.labelled, t.pass_rate) ORDER BY workload) AS estimate,
        sum(COLUMNS('^(ended|succeeded|(failed|gated)_.*)$'))::BIGINT
    FROM binned AS b
    JOIN strata AS t USING (slice, cut, load_bin, workload)
    GROUP BY ALL
),
costs AS (
    SELECT
        substr(slice, 10) AS slice, coalesce(pool, route) AS cut, window_start,
        CASE WHEN count(cost_usd) = count(*) THEN sum(cost_usd ORDER BY workload) END AS cost_usd,
        sum(goodput_rps * window_s ORDER BY workload) AS cost_accepted
    FROM goodput
    WHERE slice IN ('workload_route', 'workload_pool') AND window_s = (SELECT min(window_s) FROM goodput)
    GROUP BY ALL
),
bins AS (
    SELECT
        slice, cut, load_bin,
        count(*) AS windows,
        sum(arrivals)::BIGINT AS arrivals,
        sum(ended)::BIGINT AS ended,
        sum(estimate ORDER BY window_start) AS estimate,
        sum(window_s * greatest(replicas, 1)) AS replica_time_s,
        CASE WHEN min(replicas) > 0 THEN sum(replicas * window_s) / sum(window_s) END AS replicas,
        sum(succeeded)::BIGINT AS succeeded,
        -- outcomes within a window are correlated: the spread between windows gives the effective sample size
        sum((estimate - ended * total.share) ** 2 ORDER BY window_start) * count(*) / nullif(count(*) - 1, 0) AS spread,
        greatest(
            coalesce(ratio(sum(failed_ttft), sum(gated_ttft)), 0), coalesce(ratio(sum(failed_tpot), sum(gated_tpot)), 0),
            coalesce(ratio(sum(failed_e2e), sum(gated_e2e)), 0), coalesce(ratio(sum(failed_itl_p95), sum(gated_itl_p95)), 0),
            coalesce(ratio(sum(failed_jitter), sum(gated_jitter)), 0)) <= 0.01 AS p99_gates_hold,
        ratio(sum(cost_usd ORDER BY window_start),
            sum(cost_accepted ORDER BY window_start) FILTER (WHERE cost_usd IS NOT NULL)) AS cost_per_accepted_usd
    FROM loads
    JOIN points USING (slice, cut, load_bin, window_start)
    JOIN (SELECT slice, cut, load_bin, ratio(sum(estimate), sum(ended)) AS share FROM points GROUP BY ALL) AS total
        USING (slice, cut, load_bin)
    LEFT JOIN costs USING (slice, cut, window_start)
    GROUP BY slice, cut, load_bin
),
doubts AS (
    SELECT
        slice, cut, load_bin,
        sum(CASE WHEN policy = 'estimate' AND labelled BETWEEN 1 AND need - 1
            THEN need ** 2 * pass_rate * (1 - pass_rate) / drawn_size(labelled, need) ELSE 0 END ORDER BY workload) AS label_variance
    FROM strata
    GROUP BY ALL
),
rated AS (
    SELECT
        *,
        ratio(estimate, ended) AS goodput_ratio,
        effective_size(ratio(estimate, ended), ended,
            greatest(coalesce(spread, 0), estimate * (1 - ratio(estimate, ended))) + label_variance) AS n
    FROM bins
    JOIN doubts USING (slice, cut, load_bin)
),
numbered AS (
    SELECT slice, cut, load_bin, window_start, dense_rank() OVER (ORDER BY slice, cut, load_bin)::INTEGER AS bin FROM loads
),
counted AS ( -- by a number for each bin: there are as many buckets as requests
    SELECT bin, metric, bucket, sum(n)::BIGINT AS n
    FROM (
        SELECT bin, metric, unnest(buckets) AS bucket, unnest(counts) AS n
        FROM (
            SELECT
                bin,
                unnest([
                    {metric: 'ttft', buckets: ttft_buckets, counts: ttft_counts},
                    {metric: 'tpot', buckets: tpot_buckets, counts: tpot_counts},
                    {metric: 'e2e', buckets: e2e_buckets, counts: e2e_counts}
                ], max_depth := 2)
            FROM sliced
            JOIN numbered USING (slice, cut, window_start)
        )
    )
    GROUP BY ALL
),
ranked AS (
    SELECT
        bin, metric, bucket,
        sum(n) OVER (PARTITION BY bin, metric ORDER BY bucket) AS upto,
        1 + 0.99 * (sum(n) OVER (PARTITION BY bin, metric) - 1) AS rank
    FROM counted
),
tails AS (
    SELECT
        slice, cut, load_bin,
        min(bucket_latency(bucket)) FILTER (WHERE metric = 'ttft' AND upto >= rank) AS p99_ttft_s,
        min(bucket_latency(bucket)) FILTER (WHERE metric = 'tpot' AND upto >= rank) AS p99_tpot_s,
        min(bucket_latency(bucket)) FILTER (WHERE metric = 'e2e' AND upto >= rank) AS p99_e2e_s
    FROM ranked
    JOIN (SELECT DISTINCT bin, slice, cut, load_bin FROM numbered) USING (bin)
    GROUP BY ALL
),
unloaded AS (
    -- the least load of which there is enough to judge, else the least
    SELECT slice, cut, arg_min(goodput_ratio, (ended < 100, load_bin)) AS unloaded_goodput_ratio
    FROM rated
    GROUP BY ALL
),
judged AS (
    SELECT
        *,
        arrivals / replica_time_s AS load_rps,
        -- too few requests show neither
        CASE WHEN ended >= 100
            THEN goodput_ratio > 0 AND goodput_ratio >= 0.95 * unloaded_goodput_ratio AND p99_gates_hold END AS is_sustained
    FROM rated
    JOIN unloaded USING (slice, cut)
),
knees AS (
    SELECT
        slice, cut,
        any_value(unloaded_goodput_ratio) AS unloaded_goodput_ratio,
        max(load_rps) FILTER (WHERE is_sustained) AS knee_rps,
        max(load_bin) FILTER (WHERE is_sustained) = max(load_bin) AS knee_is_last
    FROM judged
    GROUP BY ALL
),
observed AS (
    SELECT
        slice, cut,
        min(load_rps) AS observed_min_rps,
        max(load_rps) AS observed_max_rps,
        max(arrivals / window_s) AS peak_rps,
        min(replicas) > 0 AS replicas_known
    FROM loads
    GROUP BY ALL
),
-- bins, and the gaps between them
stretches AS (
    SELECT slice, cut, load_bin, load_bin + 1 AS end_bin FROM bins
    UNION ALL
    SELECT slice, cut, load_bin + 1, next_bin
    FROM (SELECT *, lead(load_bin) OVER (PARTITION BY slice, cut ORDER BY load_bin) AS next_bin FROM bins)
    WHERE next_bin > load_bin + 1
)
SELECT
    slice,
    CASE WHEN slice = 'pool' THEN cut END AS pool,
    CASE WHEN slice = 'route' THEN cut END AS route,
    s.load_bin,
    10 ** (s.load_bin / 20) AS from_rps,
    10 ** (s.end_bin / 20) AS to_rps,
    coalesce(j.windows, 0) AS windows,
    coalesce(j.arrivals, 0) AS arrivals,
    j.load_rps,
    j.replicas,
    j.succeeded / j.replica_time_s AS throughput_rps,
    j.estimate / j.replica_time_s AS goodput_rps,
    j.goodput_ratio,
    CASE WHEN j.n > 0 THEN greatest(0, wilson_mid(j.goodput_ratio, j.n) - wilson_half(j.goodput_ratio, j.n)) END AS goodput_ratio_ci_low,
    CASE WHEN j.n > 0 THEN least(1, wilson_mid(j.goodput_ratio, j.n) + wilson_half(j.goodput_ratio, j.n)) END AS goodput_ratio_ci_high,
    t.p99_ttft_s, t.p99_tpot_s, t.p99_e2e_s,
    j.p99_gates_hold,
    j.is_sustained,
    j.cost_per_accepted_usd,
    j.ended < 100 AS low_n,
    k.unloaded_goodput_ratio,
    k.knee_rps,
    k.knee_is_last,
    o.observed_min_rps,
    o.observed_max_rps,
    o.peak_rps,
    CASE WHEN o.replicas_known THEN replicas_needed(o.peak_rps, k.knee_rps, 1.2) END AS recommended_replicas
FROM stretches AS s
JOIN knees AS k USING (slice, cut)
JOIN observed AS o USING (slice, cut)
LEFT JOIN judged AS j USING (slice, cut, load_bin)
LEFT JOIN tails AS t USING (slice, cut, load_bin)
