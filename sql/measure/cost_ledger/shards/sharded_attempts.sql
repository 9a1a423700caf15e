-- description: Attempts of the hours asked for with the shard in which each is charged: those of one replica are together
-- grain: attempt_id, part_hour
-- reads: attempts, shard_count, target_hours
-- kind: view
SELECT a.*, (hash(coalesce(a.replica, a.attempt_id)) % n.shards)::INTEGER AS shard
FROM attempts AS a
CROSS JOIN shard_count AS n
WHERE a.started_ns < (SELECT (max(epoch_hour) + 1) * 3600000000000 FROM target_hours)
    AND greatest(a.ended_ns, a.started_ns) >= (SELECT min(epoch_hour) * 3600000000000 FROM target_hours)
