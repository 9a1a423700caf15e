-- description: Each alarm as it stands: whether it fires, and whether anything keeps it from notifying anybody
-- grain: alarm_id
-- reads: alarms
-- unit: 1 or 0
SELECT
    alarm_id, rule, severity, metric, workload, pool, replica,
    (state = 'firing')::INTEGER AS firing,
    (suppressed IS NOT NULL)::INTEGER AS suppressed
FROM alarms
