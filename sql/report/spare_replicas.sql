-- description: What idle replicas of each pool cost in each window of a period, and how much of it is spare: replicas beyond what its requests need
-- grain: period, pool, window_start
-- reads: goodput, load_curves, replica_windows, shown_periods, waste
-- unit: spare_usd: US dollars of replicas beyond `headroom` times what the window's requests need at the knee of their pool; of a pool without a knee, all but one replica's of windows in which it had at most half as many requests a second as in its busiest; so of one whose prompts alone fail its gates, as its knee is theirs; none where the gates held at no load seen
-- unit: spare_low_usd, spare_high_usd: the same at the ends of the interval of the knee; without a knee from nothing on
WITH knees AS (
    SELECT pool, any_value(knee_rps) AS knee_rps, any_value(knee_ci_low_rps) AS low_rps, any_value(knee_ci_high_rps) AS high_rps, any_value(headroom) AS headroom,
        bool_or(is_failed_by_prompts) AS is_failed_by_prompts,
        -- judged, and no load seen at which its gates held
        coalesce(any_value(knee_rps) IS NULL AND any_value(knee_censored) IS NOT true AND NOT bool_or(is_sustained), false) AS is_short
    FROM load_curves
    WHERE divided_by = 'pool'
    GROUP BY pool
),
paid AS (
    SELECT p.period, w.pool, w.window_start, sum(w.usd) FILTER (WHERE w.bucket = 'idle') AS idle_usd, sum(w.usd) FILTER (WHERE w.bucket <> 'overhead') AS usd
    FROM waste AS w
    JOIN shown_periods AS p ON w.window_s = p.drawn_s AND w.window_start >= p.from_at AND w.window_start < p.until_at
    WHERE w.slice = 'pool'
    GROUP BY ALL
),
up AS (
    SELECT p.period, r.pool, r.window_start, count(DISTINCT r.replica) AS replicas
    FROM replica_windows AS r
    JOIN shown_periods AS p ON r.window_s = p.drawn_s AND r.window_start >= p.from_at AND r.window_start < p.until_at
    WHERE r.up_s > 0
    GROUP BY ALL
),
loads AS (
    -- of a window that was observed in part the rate is that of what was observed
    SELECT
        p.period, g.pool, g.window_start, g.offered / CASE WHEN g.partial AND g.observed_s > 0 THEN g.observed_s ELSE g.window_s END AS load_rps,
        max(load_rps) OVER (PARTITION BY p.period, g.pool) AS most_rps
    FROM goodput AS g
    JOIN shown_periods AS p ON g.window_s = p.drawn_s AND g.window_start >= p.from_at AND g.window_start < p.until_at
    WHERE g.slice = 'pool'
)
-- one replica stays: somebody has to take the next request. In a window without
-- telemetry of a pool whose replicas are otherwise known it may be that one.
SELECT
    d.period, d.pool, d.window_start, d.idle_usd, k.headroom,
    k.knee_rps > 0 AND u.replicas > 0 AND NOT k.is_failed_by_prompts AS is_by_knee,
    coalesce(k.is_short, false) AS is_short,
    -- where the interval of the knee has no such end, none of it may be spare, or all
    list_transform([k.knee_rps, coalesce(k.low_rps, 0), coalesce(k.high_rps, 'Infinity'::DOUBLE)], lambda knee: CASE
        WHEN is_by_knee AND knee > 0
            THEN least(d.idle_usd, d.usd * greatest(0, 1 - greatest(1, ceil(coalesce(l.load_rps, 0) / knee * k.headroom - 1e-9)) / u.replicas))
        WHEN is_by_knee IS NOT true AND k.is_short IS NOT true AND 2 * coalesce(l.load_rps, 0) <= coalesce(l.most_rps, 1)
            THEN least(d.idle_usd, d.usd * CASE
                WHEN u.replicas > 0 THEN 1 - 1 / u.replicas
                WHEN max(u.replicas) OVER (PARTITION BY d.period, d.pool) > 0 THEN 0
                ELSE 1
            END)
        ELSE 0
    END) AS spares,
    spares[1] AS spare_usd,
    CASE WHEN is_by_knee THEN spares[2] ELSE 0 END AS spare_low_usd, spares[3] AS spare_high_usd
FROM paid AS d
LEFT JOIN knees AS k USING (pool)
LEFT JOIN up AS u ON u.period = d.period AND u.pool = d.pool AND u.window_start = d.window_start
LEFT JOIN loads AS l ON l.period = d.period AND l.pool = d.pool AND l.window_start = d.window_start
WHERE d.idle_usd > 0
