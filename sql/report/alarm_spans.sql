-- description: Alarms that fired in a period or still do, each from when to when
-- grain: period, alarm_id, from_at
-- reads: alarm_events, shown_periods
WITH episodes AS (
    SELECT
        alarm_id, starts_at AS at, max(ends_at) AS ended_at,
        any_value(rule) AS rule, any_value(kind) AS kind, any_value(severity) AS severity, any_value(metric) AS metric,
        any_value(workload) AS workload, any_value(pool) AS pool, any_value(replica) AS replica,
        -- of what one run recorded, the last that happened
        arg_max(summary, (recorded_at, occurred_at, event_id)) AS summary,
        arg_max(value, (recorded_at, occurred_at, event_id)) AS value, arg_max(usual, (recorded_at, occurred_at, event_id)) AS usual
    FROM alarm_events
    WHERE rule <> 'watchdog' AND suppressed IS NULL
    GROUP BY alarm_id, starts_at
)
SELECT p.period, e.*, coalesce(e.ended_at, p.until_at) AS until_at, e.ended_at IS NULL AS is_firing
FROM episodes AS e
JOIN shown_periods AS p ON e.at < p.until_at AND coalesce(e.ended_at, p.until_at) > p.from_at
ORDER BY ALL
