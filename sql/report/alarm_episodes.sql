-- description: Each time that an alarm fired: from when to when, and why nobody was notified of it, where nobody was
-- grain: alarm_id, starts_at
-- reads: alarm_events
-- What late data corrected no longer holds, and what was held back at first may have been reported later.
WITH holding AS (
    SELECT *
    FROM alarm_events
    WHERE
        rule <> 'watchdog' AND transition IN ('firing', 'resolved')
        AND event_id NOT IN (SELECT corrects FROM alarm_events WHERE corrects IS NOT NULL)
)
SELECT
    alarm_id, starts_at, max(ends_at) AS ended_at,
    any_value(rule) AS rule, any_value(kind) AS kind, any_value(severity) AS severity, any_value(metric) AS metric,
    any_value(workload) AS workload, any_value(pool) AS pool, any_value(replica) AS replica,
    -- of what one run recorded, the last that happened
    arg_max(summary, (recorded_at, occurred_at, event_id)) AS summary,
    arg_max(value, (recorded_at, occurred_at, event_id)) AS value, arg_max(usual, (recorded_at, occurred_at, event_id)) AS usual,
    CASE
        WHEN NOT bool_or(transition = 'firing' AND suppressed IS NULL)
            THEN arg_max(suppressed, (occurred_at, event_id)) FILTER (WHERE transition = 'firing')
    END AS suppressed
FROM holding
GROUP BY alarm_id, starts_at
HAVING bool_or(transition = 'firing')
