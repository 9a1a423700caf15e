-- description: What dollars of a period bought nothing that was accepted, by bucket and workload (of one workload by route), what can be mended most first
-- grain: period, choice, part, bucket
-- reads: goodput, load_curves, shown_periods, shown_slices, spare_replicas, waste
-- unit: US dollars; share: of all that was spent; low_usd, high_usd: as `money_totals` has them
-- unit: spare_usd, spare_low_usd, spare_high_usd: as `spare_replicas` has them; spare_by says by what: knee, quiet, both, short
-- unit: mendable_usd: spare_usd of idle dollars, all of others
-- unit: queue_late_usd, retries_late_usd, prefill_late_usd, work_late_usd: of slow answers, as `waste` has them; wait_unknown_usd: those of which no source reported the wait in a queue
-- unit: at_peak: of the pools that serve the part, what those need at their peak that never had more
WITH divided AS (
    SELECT
        *,
        CASE slice
            WHEN 'overall' THEN 'workload' WHEN 'model' THEN 'workload_model' WHEN 'pool' THEN 'workload_pool' WHEN 'workload' THEN 'workload_route'
            ELSE slice
        END AS by_slice
    FROM shown_slices
),
parts AS (
    SELECT
        p.period, d.choice, w.workload, w.route, w.bucket,
        any_value(CASE WHEN d.slice IN ('overall', 'model', 'pool') THEN coalesce(w.workload, 'no workload')
            WHEN d.slice = 'workload' THEN coalesce(w.route, 'no route') END) AS part,
        any_value(CASE WHEN d.slice IN ('overall', 'model', 'pool') THEN 'workload' WHEN d.slice = 'workload' THEN 'route' END) AS divided_by,
        w.window_s, w.window_start, p.whole_s, p.drawn_s,
        sum(w.queue_late_usd) AS queue_late_usd, sum(w.retries_late_usd) AS retries_late_usd, sum(w.prefill_late_usd) AS prefill_late_usd, sum(w.work_late_usd) AS work_late_usd,
        sum(w.direct_usd) FILTER (WHERE w.bucket = 'slow') AS late_usd,
        sum(w.usd) AS usd, sum(w.ci_low_usd) AS low_usd, sum(w.ci_high_usd) AS high_usd,
        count(w.ci_low_usd) = count(*) AS has_low, count(w.ci_high_usd) = count(*) AS has_high, bool_or(w.estimated) AS estimated
    FROM waste AS w
    JOIN shown_periods AS p ON w.window_s IN (p.whole_s, p.drawn_s) AND w.window_start >= p.from_at AND w.window_start < p.until_at
    JOIN divided AS d
        ON d.by_slice = w.slice AND d.slice_value IS NOT DISTINCT FROM w.slice_value AND d.model IS NOT DISTINCT FROM w.model
        AND d.pool IS NOT DISTINCT FROM w.pool AND (d.slice IN ('overall', 'model', 'pool') OR d.workload IS NOT DISTINCT FROM w.workload)
        AND (d.by_slice <> d.slice OR d.route IS NOT DISTINCT FROM w.route)
    GROUP BY ALL
),
-- replicas serve all that comes to their pool: a part is quiet when the pools that serve it are
asked AS (
    SELECT DISTINCT s.period, s.choice, s.workload, s.route, g.pool
    FROM parts AS s
    JOIN divided AS d USING (choice)
    JOIN shown_periods AS p ON p.period = s.period
    JOIN goodput AS g
        ON g.slice = 'finest' AND g.window_s = p.whole_s AND g.window_start >= p.from_at AND g.window_start < p.until_at AND g.offered > 0
        AND coalesce(g.workload = s.workload, s.workload IS NULL) AND coalesce(g.route = s.route, s.route IS NULL)
        AND coalesce(g.model = d.model, d.model IS NULL) AND coalesce(g.pool = d.pool, d.pool IS NULL)
),
-- what idles in a window without any request is of no workload: such a part is of the pools that idle
idled AS (
    SELECT DISTINCT s.period, s.choice, s.workload, s.route, w.pool
    FROM parts AS s
    JOIN divided AS d USING (choice)
    JOIN waste AS w
        ON w.slice = 'finest' AND w.window_s = s.window_s AND w.window_start = s.window_start AND w.bucket = 'idle' AND w.usd > 0
        AND coalesce(w.workload = s.workload, s.workload IS NULL) AND coalesce(w.route = s.route, s.route IS NULL)
        AND coalesce(w.model = d.model, d.model IS NULL) AND coalesce(w.pool = d.pool, d.pool IS NULL)
    ANTI JOIN asked AS a
        ON a.period = s.period AND a.choice = s.choice AND a.workload IS NOT DISTINCT FROM s.workload AND a.route IS NOT DISTINCT FROM s.route
    WHERE s.bucket = 'idle'
),
serving AS (
    FROM asked UNION ALL FROM idled
),
-- of what the pools that serve a part idle, which share is spare
shares AS (
    SELECT
        v.period, v.choice, v.workload, v.route, s.window_start, sum(s.spare_usd) / sum(s.idle_usd) AS share,
        sum(s.spare_low_usd) / sum(s.idle_usd) AS low_share, sum(s.spare_high_usd) / sum(s.idle_usd) AS high_share,
        max(s.headroom) AS headroom, bool_or(s.is_by_knee IS true) AS by_knee, bool_or(s.is_by_knee IS NOT true AND NOT s.is_short) AS by_quiet,
        bool_or(s.is_short) AS by_short
    FROM serving AS v
    JOIN spare_replicas AS s USING (period, pool)
    GROUP BY ALL
),
knees AS (
    SELECT pool, any_value(recommended_replicas) AS needed, any_value(most_replicas) AS most,
        -- what prompts alone make late is so with any number of replicas
        bool_or(is_failed_by_prompts) AS is_failed_by_prompts
    FROM load_curves
    WHERE divided_by = 'pool'
    GROUP BY pool
),
needs AS (
    SELECT
        v.period, v.choice, v.workload, v.route,
        string_agg(format('pool {} needs {:,} where there were {:,}', v.pool, k.needed, k.most), ', ' ORDER BY v.pool) FILTER (WHERE k.needed >= k.most AND NOT k.is_failed_by_prompts) AS at_peak
    FROM serving AS v
    LEFT JOIN knees AS k USING (pool)
    GROUP BY v.period, v.choice, v.workload, v.route
),
summed AS (
    SELECT
        s.period, s.choice, s.part, s.divided_by, s.bucket,
        sum(s.usd) FILTER (WHERE s.window_s = s.whole_s) AS usd,
        CASE WHEN bool_and(s.has_low) FILTER (WHERE s.window_s = s.whole_s) THEN sum(s.low_usd) FILTER (WHERE s.window_s = s.whole_s) END AS low_usd,
        CASE WHEN bool_and(s.has_high) FILTER (WHERE s.window_s = s.whole_s) THEN sum(s.high_usd) FILTER (WHERE s.window_s = s.whole_s) END AS high_usd,
        bool_or(s.estimated) AS estimated,
        sum(s.queue_late_usd) FILTER (WHERE s.window_s = s.whole_s) AS queue_late_usd,
        sum(s.retries_late_usd) FILTER (WHERE s.window_s = s.whole_s) AS retries_late_usd,
        sum(s.prefill_late_usd) FILTER (WHERE s.window_s = s.whole_s) AS prefill_late_usd,
        sum(s.work_late_usd) FILTER (WHERE s.window_s = s.whole_s) AS work_late_usd,
        sum(s.late_usd) FILTER (WHERE s.window_s = s.whole_s) AS late_usd,
        -- of a part without any request nothing is said
        CASE WHEN s.bucket = 'idle' THEN sum(s.usd * h.share) / nullif(sum(s.usd) FILTER (WHERE h.share IS NOT NULL), 0) END AS spare_share,
        CASE WHEN s.bucket = 'idle' THEN sum(s.usd * h.low_share) / nullif(sum(s.usd) FILTER (WHERE h.share IS NOT NULL), 0) END AS low_share,
        CASE WHEN s.bucket = 'idle' THEN sum(s.usd * h.high_share) / nullif(sum(s.usd) FILTER (WHERE h.share IS NOT NULL), 0) END AS high_share,
        CASE WHEN bool_or(h.by_knee) AND bool_or(h.by_quiet) THEN 'both' WHEN bool_or(h.by_knee) THEN 'knee' WHEN bool_or(h.by_quiet) THEN 'quiet' WHEN bool_or(h.by_short) THEN 'short' END AS spare_by,
        CASE WHEN s.bucket = 'idle' THEN any_value(n.at_peak) END AS at_peak, max(h.headroom) AS headroom
    FROM parts AS s
    LEFT JOIN shares AS h
        ON h.period = s.period AND h.choice = s.choice AND h.workload IS NOT DISTINCT FROM s.workload
        AND h.route IS NOT DISTINCT FROM s.route AND h.window_start = s.window_start AND s.window_s = s.drawn_s
    LEFT JOIN needs AS n
        ON n.period = s.period AND n.choice = s.choice AND n.workload IS NOT DISTINCT FROM s.workload AND n.route IS NOT DISTINCT FROM s.route
    GROUP BY s.period, s.choice, s.part, s.divided_by, s.bucket
)
SELECT
    period, choice, part, divided_by, bucket, usd, low_usd, high_usd, estimated,
    usd / nullif(sum(usd) OVER (PARTITION BY period, choice), 0) AS share,
    CASE WHEN spare_share BETWEEN 0 AND 1 THEN spare_share * usd END AS spare_usd,  -- credits leave no share
    CASE WHEN spare_usd IS NOT NULL THEN low_share * usd END AS spare_low_usd, CASE WHEN spare_usd IS NOT NULL THEN high_share * usd END AS spare_high_usd,
    CASE WHEN spare_usd IS NOT NULL THEN spare_by END AS spare_by, headroom, at_peak,
    queue_late_usd, retries_late_usd, prefill_late_usd, work_late_usd,
    CASE WHEN late_usd IS NOT NULL THEN greatest(0, late_usd - queue_late_usd - retries_late_usd - prefill_late_usd - work_late_usd) END AS wait_unknown_usd,
    coalesce(spare_usd, usd) AS mendable_usd
FROM summed
QUALIFY bucket NOT IN ('accepted', 'unlabelled') AND usd > 0
    AND row_number() OVER (PARTITION BY period, choice, bucket IN ('accepted', 'unlabelled') ORDER BY usd DESC, bucket, part) <= 12
ORDER BY period, choice, mendable_usd DESC, usd DESC, bucket, part
