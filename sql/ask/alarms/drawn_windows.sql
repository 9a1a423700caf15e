-- description: The windows of the series of the alarm with id `key`, in order
-- grain: window_start
-- reads: alarm_series
SELECT * FROM alarm_series WHERE alarm_id = $key ORDER BY window_start
