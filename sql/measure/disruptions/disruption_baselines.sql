-- description: The undisturbed windows that each event is compared with: of the last 7 days, with nearly its load (docs/semantics.md#disruptions)
-- grain: event_id, ordinal
-- reads: disrupting_events, disruption_options, pool_windows
WITH loads AS (
    -- by arrival, as what stalls does not complete: of the time that the disruption can last at most
    SELECT e.event_id, avg(w.arrivals) AS load
    FROM disrupting_events AS e
    JOIN pool_windows AS w
        ON w.pool IS NOT DISTINCT FROM e.pool AND w.whole
        AND w.start_s < e.cap_until_s AND w.start_s + w.base_s > e.occurred_s
    GROUP BY e.event_id
),
-- up to the cap of each event, so that no baseline depends on how another event is judged
undisturbed AS (
    SELECT w.*
    FROM pool_windows AS w
    ANTI JOIN disrupting_events AS d
        ON (w.pool IS NULL OR d.pool IS NULL OR d.pool = w.pool)
        AND w.start_s < d.cap_until_s AND w.start_s + w.base_s > d.occurred_s
    WHERE w.whole AND w.offered > 0
),
candidates AS (
    SELECT
        e.event_id, u.* EXCLUDE (pool, base_s, whole),
        coalesce(abs(u.arrivals - l.load) <= o.load_tolerance_ratio * l.load, true) AS near,
        row_number() OVER (PARTITION BY e.event_id ORDER BY abs(u.arrivals - l.load), u.start_s DESC) AS nearest
    FROM disrupting_events AS e
    CROSS JOIN disruption_options AS o
    LEFT JOIN loads AS l USING (event_id)
    JOIN undisturbed AS u
        ON u.pool IS NOT DISTINCT FROM e.pool
        AND u.start_s >= e.occurred_s - o.baseline_s AND u.start_s + u.base_s <= e.occurred_s
    WHERE e.occurred_s >= o.from_s AND e.occurred_s < o.until_s
)
SELECT
    c.* EXCLUDE (near, nearest),
    CASE
        WHEN count(*) FILTER (WHERE near) OVER event >= o.baseline_windows THEN 'matched'
        WHEN count(*) OVER event >= o.baseline_windows THEN 'nearest'
        ELSE 'undisturbed'
    END AS baseline,
    row_number() OVER (PARTITION BY event_id ORDER BY start_s) - 1 AS ordinal,
    count(*) OVER event AS windows
FROM candidates AS c
CROSS JOIN disruption_options AS o
WHERE near OR nearest <= o.baseline_windows
WINDOW event AS (PARTITION BY event_id)
