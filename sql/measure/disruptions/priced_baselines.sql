-- description: The undisturbed windows that each disruption's price and goodput ratio come from: those with the loads of its own windows (docs/semantics.md#disruptions)
-- grain: event_id, start_s
-- reads: disrupted_windows, disruption_options, undisturbed_windows
-- unit: weight: each window of the disruption shares one out among those with its load; as a share of the greatest
WITH loads AS (
    SELECT event_id, list(arrivals ORDER BY arrivals) AS loads FROM undisturbed_windows GROUP BY event_id
),
reached AS (
    SELECT event_id, w.start_s AS own_s, like_loads(l.loads, w.arrivals, like_each(o.baseline_windows, count(*) OVER (PARTITION BY event_id))) AS around
    FROM disrupted_windows AS w
    CROSS JOIN disruption_options AS o
    JOIN loads AS l USING (event_id)
),
liked AS (
    SELECT r.event_id, r.own_s, u.start_s, 1.0::DOUBLE / count(*) OVER (PARTITION BY r.event_id, r.own_s) AS part
    FROM reached AS r
    JOIN undisturbed_windows AS u ON u.event_id = r.event_id AND u.arrivals BETWEEN r.around.low AND r.around.high
),
weights AS (
    SELECT event_id, start_s, sum(part ORDER BY own_s) AS weight FROM liked GROUP BY event_id, start_s
)
SELECT u.*, w.weight / max(w.weight) OVER (PARTITION BY w.event_id) AS weight
FROM weights AS w
JOIN undisturbed_windows AS u ON u.event_id = w.event_id AND u.start_s = w.start_s
