-- description: Alarms in the order in which they are listed, what fires first; inactive and learning ones where parameter `every` is true
-- grain: alarm_id
-- reads: alarms
SELECT *
FROM alarms
WHERE $every OR state IN ('firing', 'pending', 'resolved')
ORDER BY state <> 'firing', severity, state_since_at DESC, rule, pool, replica, labels
