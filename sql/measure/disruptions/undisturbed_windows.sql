-- description: The undisturbed windows of the 7 days before each event that it can be compared with (docs/semantics.md#disruptions)
-- grain: event_id, start_s
-- reads: disrupting_events, disruption_options, pool_windows
-- up to the cap of each event, so that no baseline depends on how another event is judged
WITH undisturbed AS (
    SELECT w.*
    FROM pool_windows AS w
    ANTI JOIN disrupting_events AS d
        ON (w.pool IS NULL OR d.pool IS NULL OR d.pool = w.pool)
        AND w.start_s < d.cap_until_s AND w.start_s + w.base_s > d.occurred_s
    WHERE w.whole AND w.offered > 0
)
SELECT e.event_id, u.* EXCLUDE (pool, base_s, whole)
FROM disrupting_events AS e
CROSS JOIN disruption_options AS o
JOIN undisturbed AS u
    ON u.pool IS NOT DISTINCT FROM e.pool
    AND u.start_s >= e.occurred_s - o.baseline_s AND u.start_s + u.base_s <= e.occurred_s
WHERE e.occurred_s >= o.from_s AND e.occurred_s < o.until_s
