-- description: What dollars of a period bought nothing that was accepted, by bucket and workload (of one workload by route), the largest first
-- grain: period, choice, part, bucket
-- reads: goodput, load_curves, shown_periods, shown_slices, waste
-- unit: US dollars; share: of all that was spent; low_usd, high_usd: as `money_totals` has them; quiet_share: of the dollars, in windows in which the pools that serve the part had at most half as many requests as in their busiest; needed_replicas, most_replicas: as `load_curves` has them, where one pool serves the part
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
serving AS (
    SELECT DISTINCT s.period, s.choice, s.workload, s.route, g.pool
    FROM parts AS s
    JOIN divided AS d USING (choice)
    JOIN shown_periods AS p ON p.period = s.period
    JOIN goodput AS g
        ON g.slice = 'finest' AND g.window_s = p.whole_s AND g.window_start >= p.from_at AND g.window_start < p.until_at AND g.offered > 0
        AND coalesce(g.workload = s.workload, s.workload IS NULL) AND coalesce(g.route = s.route, s.route IS NULL)
        AND coalesce(g.model = d.model, d.model IS NULL) AND coalesce(g.pool = d.pool, d.pool IS NULL)
),
loads AS (
    SELECT v.period, v.choice, v.workload, v.route, g.window_start, sum(g.offered) AS offered
    FROM serving AS v
    JOIN shown_periods AS p USING (period)
    JOIN goodput AS g
        ON g.slice = 'pool' AND g.pool IS NOT DISTINCT FROM v.pool AND g.window_s = p.drawn_s
        AND g.window_start >= p.from_at AND g.window_start < p.until_at
    GROUP BY ALL
),
-- of one pool
needs AS (
    SELECT v.period, v.choice, v.workload, v.route, any_value(l.recommended_replicas) AS needed_replicas, any_value(l.most_replicas) AS most_replicas
    FROM serving AS v
    LEFT JOIN load_curves AS l ON l.divided_by = 'pool' AND l.pool = v.pool
    GROUP BY v.period, v.choice, v.workload, v.route
    HAVING count(DISTINCT v.pool) = 1
),
arrivals AS (
    SELECT *, max(offered) OVER (PARTITION BY period, choice, workload, route) AS most
    FROM loads
),
summed AS (
    SELECT
        s.period, s.choice, s.part, s.divided_by, s.bucket,
        sum(s.usd) FILTER (WHERE s.window_s = s.whole_s) AS usd,
        CASE WHEN bool_and(s.has_low) FILTER (WHERE s.window_s = s.whole_s) THEN sum(s.low_usd) FILTER (WHERE s.window_s = s.whole_s) END AS low_usd,
        CASE WHEN bool_and(s.has_high) FILTER (WHERE s.window_s = s.whole_s) THEN sum(s.high_usd) FILTER (WHERE s.window_s = s.whole_s) END AS high_usd,
        bool_or(s.estimated) AS estimated,
        -- of parts without any request every window is quiet, and nothing is said of them
        CASE WHEN max(a.most) > 0 THEN
            coalesce(sum(s.usd) FILTER (WHERE s.window_s = s.drawn_s AND 2 * coalesce(a.offered, 0) <= coalesce(a.most, 1)), 0)
            / nullif(sum(s.usd) FILTER (WHERE s.window_s = s.drawn_s), 0)
        END AS quiet_share,
        any_value(n.needed_replicas) AS needed_replicas, any_value(n.most_replicas) AS most_replicas
    FROM parts AS s
    LEFT JOIN needs AS n
        ON n.period = s.period AND n.choice = s.choice AND n.workload IS NOT DISTINCT FROM s.workload AND n.route IS NOT DISTINCT FROM s.route
    LEFT JOIN arrivals AS a
        ON a.period = s.period AND a.choice = s.choice AND a.workload IS NOT DISTINCT FROM s.workload
        AND a.route IS NOT DISTINCT FROM s.route AND a.window_start = s.window_start AND s.window_s = s.drawn_s
    GROUP BY s.period, s.choice, s.part, s.divided_by, s.bucket
)
SELECT
    period, choice, part, divided_by, bucket, usd, low_usd, high_usd, estimated,
    usd / nullif(sum(usd) OVER (PARTITION BY period, choice), 0) AS share,
    CASE WHEN quiet_share BETWEEN 0 AND 1 THEN quiet_share END AS quiet_share,  -- credits leave no share
    needed_replicas, most_replicas
FROM summed
QUALIFY bucket NOT IN ('accepted', 'unlabelled') AND usd > 0
    AND row_number() OVER (PARTITION BY period, choice, bucket IN ('accepted', 'unlabelled') ORDER BY usd DESC, bucket, part) <= 12
ORDER BY period, choice, usd DESC, bucket, part
