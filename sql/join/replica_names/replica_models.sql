-- description: The model that each replica serves by its own metrics, where these name exactly one in the hour and those beside it
-- grain: epoch_hour, replica
-- reads: named_replicas, replica_names
SELECT n.epoch_hour, n.replica, min(s.model) AS model
FROM replica_names AS s
CROSS JOIN (SELECT unnest([-1, 0, 1]) AS away)
JOIN named_replicas AS n ON n.epoch_hour = s.epoch_hour + away AND n.name = s.replica
WHERE s.evidence = 'sample' AND n.replica IS NOT NULL
GROUP BY n.epoch_hour, n.replica
HAVING min(s.model) = max(s.model)
