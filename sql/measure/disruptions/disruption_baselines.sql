-- description: The undisturbed windows whose hits and latency each event's pool has to be back at: those with the loads of the windows that it can disrupt (docs/semantics.md#disruptions)
-- grain: event_id, ordinal
-- reads: disrupting_events, disruption_options, pool_windows, undisturbed_windows
WITH loads AS (
    SELECT event_id, list(arrivals ORDER BY arrivals) AS loads FROM undisturbed_windows GROUP BY event_id
),
-- by arrival, as what stalls does not complete: of the time that the disruption can last at most
reached AS (
    SELECT
        e.event_id, w.arrivals AS load, o.load_tolerance_ratio * load AS near,
        like_loads(l.loads, load, like_each(o.baseline_windows, count(*) OVER (PARTITION BY e.event_id))) AS around
    FROM disrupting_events AS e
    CROSS JOIN disruption_options AS o
    JOIN loads AS l USING (event_id)
    JOIN pool_windows AS w
        ON w.pool IS NOT DISTINCT FROM e.pool AND w.whole
        AND w.start_s < e.cap_until_s AND w.start_s + w.base_s > e.occurred_s
),
chosen AS (
    SELECT u.event_id, u.start_s, bool_or(abs(u.arrivals - r.load) <= r.near) AS near
    FROM reached AS r
    JOIN undisturbed_windows AS u ON u.event_id = r.event_id AND u.arrivals BETWEEN r.around.low AND r.around.high
    GROUP BY ALL
)
SELECT
    u.*,
    CASE
        WHEN count(*) OVER event < o.baseline_windows THEN 'few'
        WHEN bool_and(c.near) OVER event THEN 'matched'
        ELSE 'nearest'
    END AS baseline,
    row_number() OVER (PARTITION BY u.event_id ORDER BY u.start_s) - 1 AS ordinal,
    count(*) OVER event AS windows
FROM chosen AS c
JOIN undisturbed_windows AS u USING (event_id, start_s)
CROSS JOIN disruption_options AS o
WINDOW event AS (PARTITION BY u.event_id)
