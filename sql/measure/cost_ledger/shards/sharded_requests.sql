-- description: Requests that were delivered by such attempts, each with its attempt's shard
-- grain: request_key, shard
-- reads: requests, sharded_attempts
-- kind: view
SELECT q.*, a.shard
FROM requests AS q
JOIN (SELECT DISTINCT attempt_id, part_hour, shard FROM sharded_attempts WHERE delivered) AS a
    ON q.delivering_attempt_id = a.attempt_id AND epoch_us(coalesce(q.ended_at, q.arrived_at)) // 3600000000 = a.part_hour
