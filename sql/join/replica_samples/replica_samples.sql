-- description: Every reading once, and of counters how much they rose since the reading before (docs/semantics.md#cache-and-replicas, #time-and-restatement)
-- grain: series_id, sampled_ns
-- reads: named_replicas, sample_options, sample_records
-- identity: C: of a counter read without gaps, the increases add up to its true growth
WITH once AS (
    SELECT s.* REPLACE (coalesce(n.replica, s.replica) AS replica), o.staleness_ns
    FROM sample_records AS s
    CROSS JOIN sample_options AS o
    LEFT JOIN named_replicas AS n ON n.epoch_hour = s.sampled_ns // 3600000000000 AND n.name = s.replica AND n.replica <> s.replica
    -- two copies of a reading that differ: the higher, so that no order of sources makes a reset
    QUALIFY row_number() OVER (
        PARTITION BY series_id, sampled_ns
        ORDER BY value DESC, len(bucket_counts) DESC NULLS LAST, start_ns DESC NULLS LAST, source_id, line, position
    ) = 1
),
followed AS (
    SELECT
        *,
        lag(value) OVER series AS value_before,
        lag(bucket_counts) OVER series AS counts_before,
        -- one further back than the hour before is not there when the hour is computed alone
        CASE WHEN lag(sampled_ns) OVER series // 3600000000000 >= sampled_ns // 3600000000000 - 1 THEN lag(sampled_ns) OVER series END AS sampled_before_ns
    FROM once
    WINDOW series AS (PARTITION BY series_id ORDER BY sampled_ns)
),
-- Another version is another series. What took the place of an earlier one, and began after its last reading, is no counter
-- that was never read before.
upgraded AS (
    SELECT f.series_id, f.sampled_ns
    FROM followed AS f
    JOIN once AS o
        ON o.layer = f.layer AND o.replica = f.replica AND o.metric = f.metric AND o.emitted = f.emitted AND o.labels = f.labels
        AND o.preference = f.preference AND o.version IS DISTINCT FROM f.version AND o.sampled_ns < f.sampled_ns
        AND o.sampled_ns // 3600000000000 >= f.sampled_ns // 3600000000000 - 1
    WHERE f.sampled_before_ns IS NULL AND f.start_ns < f.sampled_ns AND f.sampled_ns - f.start_ns <= f.staleness_ns
    GROUP BY f.series_id, f.sampled_ns, f.start_ns
    HAVING max(o.sampled_ns) < f.start_ns
),
several_feeds AS (
    SELECT layer, replica, metric FROM once GROUP BY ALL HAVING min(preference) < max(preference)
),
-- a metric that comes through several feeds, or under an old name beside the new, counts once: as the best one near
-- in time reports it
best AS (
    SELECT
        series_id, sampled_ns,
        preference = min(preference) OVER (
            PARTITION BY layer, replica, metric ORDER BY sampled_ns
            RANGE BETWEEN staleness_ns PRECEDING AND staleness_ns FOLLOWING
        ) AS counts
    FROM once
    JOIN several_feeds USING (layer, replica, metric)
),
-- what a scraper adds to a series names its target, its job or itself, and nothing that the engine counts apart
scraped AS (
    SELECT
        series_id, layer, replica, metric, emitted, version, preference, labels,
        json_transform(labels, '"MAP(VARCHAR, VARCHAR)"') AS named,
        coalesce(named['instance'], named['job']) AS target,
        named['cluster'] AS cluster, named['namespace'] AS namespace, named['pod'] AS pod, named['node'] AS node,
        map_from_entries(list_sort(list_filter(map_entries(named), lambda pair: pair.key NOT IN (
            'instance', 'job', 'cluster', 'namespace', 'pod', 'node', 'service', 'container', 'prometheus', 'prometheus_replica',
            'receive', 'receive_replica', 'monitor'
        )))) AS own
    FROM (
        SELECT
            series_id, replica, any_value(layer) AS layer, any_value(metric) AS metric, any_value(emitted) AS emitted,
            any_value(version) AS version, any_value(preference) AS preference, any_value(labels) AS labels
        FROM once
        GROUP BY series_id, replica
    )
),
copies AS ( -- of two targets each series is its own
    SELECT c.series_id, b.series_id AS better_id
    FROM scraped AS c
    JOIN scraped AS b
        ON b.layer = c.layer AND b.replica = c.replica AND b.metric = c.metric AND b.emitted = c.emitted
        AND b.version IS NOT DISTINCT FROM c.version AND b.preference = c.preference AND b.own = c.own
    WHERE b.labels < c.labels
        AND coalesce(b.target = c.target, true) AND coalesce(b.cluster = c.cluster, true) AND coalesce(b.namespace = c.namespace, true)
        AND coalesce(b.pod = c.pod, true) AND coalesce(b.node = c.node, true)
),
read_twice AS (
    SELECT
        series_id, sampled_ns, sampled_before_ns,
        -- from when on it reports: the reading before, or where that is too long ago the start of what began since
        CASE
            WHEN sampled_ns - sampled_before_ns <= staleness_ns THEN sampled_before_ns
            WHEN sampled_ns - start_ns <= staleness_ns THEN start_ns
        END AS reported_from_ns
    FROM followed
    WHERE series_id IN (SELECT series_id FROM copies UNION ALL SELECT better_id FROM copies)
),
-- what several scrapers read of one series counts once: where the first of them reports any of the time, as that does
read_better AS (
    SELECT o.series_id, o.sampled_ns
    FROM (SELECT c.better_id, t.* FROM copies AS c JOIN read_twice AS t USING (series_id)) AS o
    ASOF JOIN read_twice AS b ON b.series_id = o.better_id AND b.sampled_ns >= o.sampled_ns
    WHERE b.reported_from_ns < o.sampled_ns
    UNION
    SELECT o.series_id, o.sampled_ns
    FROM (SELECT c.better_id, t.* FROM copies AS c JOIN read_twice AS t USING (series_id)) AS o
    ASOF JOIN read_twice AS b ON b.series_id = o.better_id AND b.sampled_ns <= o.sampled_ns
    WHERE b.sampled_ns > coalesce(o.reported_from_ns, o.sampled_before_ns) AND b.reported_from_ns IS NOT NULL
),
linked AS (
    SELECT
        f.*,
        f.sampled_ns - f.sampled_before_ns <= f.staleness_ns AS follows,
        -- begun since the reading before: all that it shows has come since then. Some collectors give the time of the first
        -- reading that they saw as the start, so without a reading before, or at that very time, 0 must be certain
        coalesce(f.start_ns > coalesce(f.sampled_before_ns, 0) AND f.sampled_ns - f.start_ns <= f.staleness_ns
            AND (f.from_zero OR f.start_ns < f.sampled_ns AND (f.sampled_before_ns IS NOT NULL OR u.series_id IS NOT NULL)), false) AS begun,
        begun OR f.value < f.value_before OR coalesce(
            list_bool_or(list_transform(list_zip(f.bucket_counts, f.counts_before), lambda pair: pair[1] < pair[2])), false
        ) AS anew
    FROM followed AS f
    LEFT JOIN best AS b USING (series_id, sampled_ns)
    ANTI JOIN read_better AS s ON s.series_id = f.series_id AND s.sampled_ns = f.sampled_ns
    LEFT JOIN upgraded AS u USING (series_id, sampled_ns)
    WHERE coalesce(b.counts, true)
)
SELECT
    series_id,
    replica,
    metric,
    at_utc(sampled_ns) AS sampled_at,
    value,
    kind,
    CASE
        WHEN kind = 'gauge' THEN NULL
        WHEN temporality = 'delta' OR begun THEN value
        WHEN follows THEN CASE WHEN anew THEN value ELSE value - value_before END
    END AS increase,
    CASE
        WHEN kind = 'gauge' THEN NULL
        WHEN begun OR temporality = 'delta' AND start_ns IS NOT NULL THEN (sampled_ns - start_ns) / 1e9
        WHEN follows THEN (sampled_ns - sampled_before_ns) / 1e9
    END AS interval_s,
    coalesce(kind <> 'gauge' AND temporality IS DISTINCT FROM 'delta' AND follows AND anew, false) AS reset,
    total, bucket_bounds, bucket_counts,
    reason, model, pool, layer, dialect, emitted, labels, version,
    source_id AS source,
    sampled_ns
FROM linked
