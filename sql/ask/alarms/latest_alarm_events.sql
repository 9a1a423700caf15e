-- description: The 20 latest events of the alarm with id `key`, the newest first
-- grain: event
-- reads: alarm_events
SELECT transition, occurred_at, suppressed, coalesce(suppressed_by, reason) AS because, summary
FROM alarm_events
WHERE alarm_id = $key
ORDER BY occurred_at DESC, recorded_at DESC, event_id
LIMIT 20
