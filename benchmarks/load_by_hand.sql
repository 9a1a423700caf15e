-- description: The load windows that the measure stage makes beside `goodput`, as one query written by hand for one day
-- grain: window_start, workload, pool, route
WITH timed AS (
    SELECT
        epoch_us(arrived_at) // 1000000 // 300 * 300 AS start_s,
        workload, coalesce(pool, 'unknown') AS pool, coalesce(route, 'unknown') AS route,
        verdict, needs_label, pass_success,
        pass_ttft, pass_tpot, pass_e2e, pass_itl_p95, pass_jitter, pass_quality,
        CASE WHEN pass_success THEN floor(ln(greatest(ttft_s, 1e-6)) / ln(1.01))::INTEGER END AS ttft_bucket,
        CASE WHEN pass_success THEN floor(ln(greatest(tpot_s, 1e-6)) / ln(1.01))::INTEGER END AS tpot_bucket,
        CASE WHEN pass_success THEN floor(ln(greatest(e2e_s, 1e-6)) / ln(1.01))::INTEGER END AS e2e_bucket
    FROM read_parquet($files)
    WHERE start_s >= $from_s AND start_s < $until_s
        AND start_s >= $observed_from_s AND start_s + 300 <= $observed_until_s
),
arrived AS (
    SELECT
        start_s, workload, pool, route,
        count(*) AS arrivals,
        count(*) FILTER (WHERE verdict <> 'in_flight') AS ended,
        count(*) FILTER (WHERE pass_success) AS succeeded,
        count(*) FILTER (WHERE verdict = 'accepted') AS accepted,
        count(*) FILTER (WHERE needs_label) AS need,
        count(pass_quality) FILTER (WHERE needs_label) AS labelled,
        list_filter([
            {gate: 'e2e', gated: count(pass_e2e) FILTER (WHERE pass_success), failing: count(*) FILTER (WHERE NOT pass_e2e AND pass_success)},
            {gate: 'itl_p95', gated: count(pass_itl_p95) FILTER (WHERE pass_success), failing: count(*) FILTER (WHERE NOT pass_itl_p95 AND pass_success)},
            {gate: 'jitter', gated: count(pass_jitter) FILTER (WHERE pass_success), failing: count(*) FILTER (WHERE NOT pass_jitter AND pass_success)},
            {gate: 'tpot', gated: count(pass_tpot) FILTER (WHERE pass_success), failing: count(*) FILTER (WHERE NOT pass_tpot AND pass_success)},
            {gate: 'ttft', gated: count(pass_ttft) FILTER (WHERE pass_success), failing: count(*) FILTER (WHERE NOT pass_ttft AND pass_success)}
        ], lambda g: g.gated > 0) AS judged,
        histogram(ttft_bucket) AS ttft,
        histogram(tpot_bucket) AS tpot,
        histogram(e2e_bucket) AS e2e
    FROM timed
    GROUP BY ALL
)
SELECT
    make_timestamptz(start_s * 1000000) AS window_start, 300 AS window_s, workload, pool, route,
    a.* EXCLUDE (start_s, workload, pool, route, judged, ttft, tpot, e2e),
    [g.gate for g in judged] AS gates, [g.gated for g in judged] AS gated_counts, [g.failing for g in judged] AS failing_counts,
    map_keys(ttft) AS ttft_buckets, map_values(ttft)::BIGINT[] AS ttft_counts,
    map_keys(tpot) AS tpot_buckets, map_values(tpot)::BIGINT[] AS tpot_counts,
    map_keys(e2e) AS e2e_buckets, map_values(e2e)::BIGINT[] AS e2e_counts
FROM arrived AS a
