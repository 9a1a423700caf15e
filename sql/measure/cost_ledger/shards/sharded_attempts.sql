-- description: Attempts in the hours asked for with the shard in which each is charged: those of one replica are together
-- grain: attempt_id, part_hour
-- reads: judged_attempts, shard_count
-- kind: view
SELECT a.*, (hash(coalesce(a.replica, a.attempt_id)) % n.shards)::INTEGER AS shard
FROM judged_attempts AS a
CROSS JOIN shard_count AS n
