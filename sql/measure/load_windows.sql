-- description: Outcomes of the requests that arrived in each base window, and the replicas at work: the points of `frontier`
-- grain: window_start, workload, pool, route
-- reads: attempts, gates, measured_range, requests, window_options
-- By arrival, not by completion: under overload the two drift apart, and what arrives is the load.
-- What lies further back than a request reaches from its end may or may not have been read: it never counts.
WITH timed AS MATERIALIZED (
    SELECT
        epoch_us(arrived_at) // 1000000 // base_s * base_s AS start_s,
        workload, coalesce(pool, 'unknown') AS pool, coalesce(route, 'unknown') AS route, replica,
        arrived_at, TRY_CAST(attributes->>'$.offered_rps' AS DOUBLE) AS declared_rps,
        verdict, needs_label, COLUMNS('^pass_'),
        latency_bucket(ttft_s) AS ttft_bucket, latency_bucket(tpot_s) AS tpot_bucket, latency_bucket(e2e_s) AS e2e_bucket
    FROM requests
    CROSS JOIN measured_range
    CROSS JOIN window_options
    -- the load of a window that was not wholly observed is unknown
    WHERE start_s >= from_s AND start_s < until_s
        AND start_s + base_s > (epoch_us(coalesce(ended_at, arrived_at)) // 3600000000 - request_reach_h) * 3600
        AND start_s * 1000000000 >= observed_from_ns AND (start_s + base_s) * 1000000000 <= observed_until_ns
),
arrived AS MATERIALIZED (
    SELECT
        start_s, workload, pool, route,
        row_number() OVER ()::INTEGER AS group_id,
        count(*) AS arrivals,
        min(arrived_at) AS first_arrived_at,
        max(arrived_at) AS last_arrived_at,
        CASE WHEN count(declared_rps) = count(*) AND min(declared_rps) = max(declared_rps) THEN min(declared_rps) END AS declared_rps,
        count(*) FILTER (WHERE verdict <> 'in_flight') AS ended,
        count(*) FILTER (WHERE pass_success) AS succeeded,
        count(*) FILTER (WHERE verdict = 'accepted') AS accepted,
        count(*) FILTER (WHERE needs_label) AS need,
        count(pass_quality) FILTER (WHERE needs_label) AS labelled
    FROM timed
    GROUP BY ALL
),
-- counting by one integer takes half the time that histogram() by four strings does
numbered AS MATERIALIZED (
    SELECT group_id, ttft_bucket, tpot_bucket, e2e_bucket, COLUMNS('^pass_')
    FROM timed
    JOIN arrived USING (start_s, workload, pool, route)
    WHERE pass_success
),
judged AS (
    SELECT
        group_id, gate,
        sum(n)::BIGINT AS gated,
        sum(CASE WHEN NOT passed THEN n ELSE 0 END)::BIGINT AS failing
    FROM (
        SELECT group_id, n, passed, substr(pass_gate, len('pass_') + 1) AS gate
        FROM (SELECT group_id, COLUMNS('^pass_'), count(*) AS n FROM numbered GROUP BY ALL)
        UNPIVOT (passed FOR pass_gate IN (COLUMNS('^pass_')))
    )
    JOIN gates USING (gate)
    WHERE bounds_load
    GROUP BY ALL
),
gated AS (
    SELECT
        group_id,
        list(gate ORDER BY gate) AS gates, list(gated ORDER BY gate) AS gated_counts, list(failing ORDER BY gate) AS failing_counts
    FROM judged
    GROUP BY group_id
),
ttft AS (
    SELECT group_id, list_sort(list({bucket: ttft_bucket, n: n})) AS counts
    FROM (SELECT group_id, ttft_bucket, count(*) AS n FROM numbered WHERE ttft_bucket IS NOT NULL GROUP BY ALL)
    GROUP BY group_id
),
tpot AS (
    SELECT group_id, list_sort(list({bucket: tpot_bucket, n: n})) AS counts
    FROM (SELECT group_id, tpot_bucket, count(*) AS n FROM numbered WHERE tpot_bucket IS NOT NULL GROUP BY ALL)
    GROUP BY group_id
),
e2e AS (
    SELECT group_id, list_sort(list({bucket: e2e_bucket, n: n})) AS counts
    FROM (SELECT group_id, e2e_bucket, count(*) AS n FROM numbered WHERE e2e_bucket IS NOT NULL GROUP BY ALL)
    GROUP BY group_id
),
delivered AS (
    SELECT start_s, workload, pool, route, replica, count(*) AS n
    FROM timed
    WHERE replica IS NOT NULL
    GROUP BY ALL
),
at_work AS (
    SELECT
        start_s, workload, pool, route,
        list(replica ORDER BY replica) AS replicas,
        list(coalesce(n, 0) ORDER BY replica) AS replica_arrivals
    FROM (
        SELECT DISTINCT workload, pool, route, replica, unnest(range(first_s, last_s + 1, base_s)) AS start_s
        FROM (
            SELECT DISTINCT
                workload, coalesce(pool, 'unknown') AS pool, coalesce(route, 'unknown') AS route, replica,
                greatest(
                    epoch_us(started_at) // 1000000, from_s, (epoch_us(coalesce(ended_at, started_at)) // 3600000000 - request_reach_h) * 3600
                ) // base_s * base_s AS first_s,
                least(epoch_us(coalesce(ended_at, started_at)) // 1000000, until_s - 1) // base_s * base_s AS last_s,
                base_s
            FROM attempts
            CROSS JOIN measured_range
            CROSS JOIN window_options
            WHERE replica IS NOT NULL
        )
    )
    LEFT JOIN delivered USING (start_s, workload, pool, route, replica)
    GROUP BY ALL
)
SELECT
    make_timestamptz(start_s * 1000000) AS window_start, p.base_s AS window_s, workload, pool, route,
    coalesce(w.replicas, []) AS replicas, coalesce(w.replica_arrivals, []) AS replica_arrivals,
    a.* EXCLUDE (start_s, workload, pool, route, group_id),
    coalesce(g.gates, []) AS gates, coalesce(g.gated_counts, []) AS gated_counts, coalesce(g.failing_counts, []) AS failing_counts,
    t.counts.list_transform(lambda c: c.bucket) AS ttft_buckets, t.counts.list_transform(lambda c: c.n) AS ttft_counts,
    o.counts.list_transform(lambda c: c.bucket) AS tpot_buckets, o.counts.list_transform(lambda c: c.n) AS tpot_counts,
    e.counts.list_transform(lambda c: c.bucket) AS e2e_buckets, e.counts.list_transform(lambda c: c.n) AS e2e_counts
FROM arrived AS a
CROSS JOIN window_options AS p
LEFT JOIN at_work AS w USING (start_s, workload, pool, route)
LEFT JOIN gated AS g USING (group_id)
LEFT JOIN ttft AS t USING (group_id)
LEFT JOIN tpot AS o USING (group_id)
LEFT JOIN e2e AS e USING (group_id)
