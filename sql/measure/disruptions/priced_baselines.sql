-- description: The undisturbed windows that each disruption's price and goodput ratio come from: those with the loads of its own windows (docs/semantics.md#disruptions)
-- grain: event_id, start_s
-- reads: disrupted_windows, disruption_options, undisturbed_windows
WITH loads AS (
    SELECT event_id, list(arrivals ORDER BY arrivals) AS loads FROM undisturbed_windows GROUP BY event_id
),
reached AS (
    SELECT event_id, like_loads(l.loads, w.arrivals, like_each(o.baseline_windows, count(*) OVER (PARTITION BY event_id))) AS around
    FROM disrupted_windows AS w
    CROSS JOIN disruption_options AS o
    JOIN loads AS l USING (event_id)
)
SELECT DISTINCT u.*
FROM reached AS r
JOIN undisturbed_windows AS u ON u.event_id = r.event_id AND u.arrivals BETWEEN r.around.low AND r.around.high
