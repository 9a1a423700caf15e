-- description: The pool of each replica in an hour by its own records, where these name exactly one
-- grain: epoch_hour, replica
-- reads: emitter_facts, named_replicas
SELECT f.epoch_hour, coalesce(n.replica, f.emitter) AS replica, min(f.other) AS pool
FROM emitter_facts AS f
LEFT JOIN named_replicas AS n ON n.name = f.emitter AND n.epoch_hour = f.epoch_hour
WHERE f.fact = 'pool'
GROUP BY ALL
HAVING min(f.other) = max(f.other)
