-- description: The replicas of each route and pool in each window, and the arrivals of other routes (pools) that these carried beside its own
-- grain: slice, name, window_start
-- reads: recent_loads
-- what other routes (pools) ask of a replica is its load, even where an operation disrupted them elsewhere
WITH placed AS (
    SELECT
        slice, name, window_start, replica,
        -- what no replica answered, such as a request that timed out in a queue before them, was meant for all alike
        sum(answered + (arrivals - list_sum(replica_arrivals)) / len(replicas) ORDER BY workload, pool, route) AS own
    FROM (
        SELECT *, unnest(replicas) AS replica, unnest(replica_arrivals) AS answered
        FROM recent_loads
    )
    GROUP BY ALL
),
shared AS (
    SELECT *, sum(own ORDER BY name) OVER (PARTITION BY slice, window_start, replica) AS every FROM placed
)
SELECT
    slice, name, window_start,
    count(*) AS replicas,
    sum(every - own ORDER BY replica) AS of_others
FROM shared
GROUP BY ALL
