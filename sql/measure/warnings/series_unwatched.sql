-- description: Pools or replicas of which there are more in the last 7 measured days than alarms watch one by one
-- grain: subject
-- reads: alarm_options, recent_windows, replica_windows
WITH seen AS (
    SELECT 'pool' AS subject, count(DISTINCT (workload, pool)) AS series FROM recent_windows WHERE slice = 'workload_pool'
    UNION ALL
    SELECT 'replica', count(DISTINCT (pool, replica)) FROM replica_windows
)
SELECT
    'medium' AS severity,
    subject,
    format('Alarms watch {:,} of {:,} series by {}, those with most windows. Have emitters report names without ids of their own, '
        'or raise alarms.max_series', max_series, series, subject) AS message,
    series - max_series AS affected,
    series AS total
FROM seen
CROSS JOIN alarm_options
WHERE series > max_series
