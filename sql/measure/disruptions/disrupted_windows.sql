-- description: The base windows that each event's disruption lies in, its own at least (docs/semantics.md#disruptions)
-- grain: event_id, ordinal
-- reads: disrupting_events, disruption_ends, pool_windows
SELECT
    e.event_id, w.* EXCLUDE (pool),
    row_number() OVER (PARTITION BY e.event_id ORDER BY w.start_s) - 1 AS ordinal,
    count(*) OVER (PARTITION BY e.event_id) AS windows
FROM disrupting_events AS e
JOIN disruption_ends AS d ON d.event_id = e.event_id AND d.draw = 0
JOIN pool_windows AS w
    ON w.pool IS NOT DISTINCT FROM e.pool
    AND w.start_s + w.base_s > e.occurred_s AND (w.start_s < d.until_s OR w.start_s <= e.occurred_s)
