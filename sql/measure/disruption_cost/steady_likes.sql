-- description: The steady windows of its pool that each disruption is compared with: those with the loads of its own windows (docs/semantics.md#disruptions)
-- grain: kind (NULL: all kinds), pool, stretch, start_s
-- reads: disruption_options, kind_windows
-- unit: weight: each window of the disruption shares one out among those with its load; as a share of the greatest
WITH steady AS (
    SELECT pool, start_s, arrivals FROM kind_windows WHERE is_steady AND whole AND offered > 0
),
loads AS (
    SELECT pool, list(arrivals ORDER BY arrivals) AS loads FROM steady GROUP BY pool
),
reached AS (
    SELECT
        w.kind, w.pool, w.stretch, w.start_s AS own_s,
        like_loads(l.loads, w.arrivals, like_each(o.baseline_windows, count(*) OVER (PARTITION BY w.kind, w.pool, w.stretch))) AS around
    FROM kind_windows AS w
    CROSS JOIN disruption_options AS o
    JOIN loads AS l USING (pool)
    WHERE NOT w.is_steady
),
liked AS (
    SELECT r.kind, r.pool, r.stretch, r.own_s, s.start_s, 1.0::DOUBLE / count(*) OVER (PARTITION BY r.kind, r.pool, r.stretch, r.own_s) AS part
    FROM reached AS r
    JOIN steady AS s ON s.pool = r.pool AND s.arrivals BETWEEN r.around.low AND r.around.high
)
SELECT kind, pool, stretch, start_s, sum(part ORDER BY own_s) / max(sum(part ORDER BY own_s)) OVER (PARTITION BY kind, pool, stretch) AS weight
FROM liked
GROUP BY kind, pool, stretch, start_s
