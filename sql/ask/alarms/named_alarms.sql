-- description: Alarms whose id begins as parameter `key` says
-- grain: alarm_id
-- reads: alarms
SELECT * FROM alarms WHERE starts_with(alarm_id, $key) ORDER BY alarm_id
