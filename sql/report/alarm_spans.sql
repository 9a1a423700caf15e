-- description: Alarms that fired in a period or still do, each from when to when, and why nobody was notified of it
-- grain: period, alarm_id, at
-- reads: alarm_episodes, shown_periods
SELECT
    p.period, e.alarm_id, e.starts_at AS at, e.ended_at, e.rule, e.kind, e.severity, e.metric,
    e.workload, e.pool, e.replica, e.summary, e.value, e.usual, e.suppressed,
    coalesce(e.ended_at, p.until_at) AS until_at, e.ended_at IS NULL AS is_firing
FROM alarm_episodes AS e
JOIN shown_periods AS p ON e.starts_at < p.until_at AND coalesce(e.ended_at, p.until_at) > p.from_at
ORDER BY ALL
