-- description: What each trend alarm can see by its own history: of rule `rule`, or of all where that is NULL
-- grain: alarm_id
-- reads: alarm_power
SELECT *
FROM alarm_power
WHERE $rule IS NULL OR rule = $rule
ORDER BY rule, workload, pool, replica, labels
