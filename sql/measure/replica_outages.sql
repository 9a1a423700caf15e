-- description: Stretches in which each replica's process ended and began anew: between the readings before and after (docs/semantics.md#cache-and-replicas)
-- grain: replica, from_ns
-- reads: replica_renewals, replica_samples
-- What is not known to be up in them is down: an attempt in flight still shows that it was up.
WITH readings AS (
    SELECT
        replica, sampled_ns,
        bool_or(reset) AS reset,
        max(value) FILTER (WHERE metric = 'process_started_s') AS started_s
    FROM replica_samples
    WHERE layer IN ('engine', 'process')
    GROUP BY replica, sampled_ns
)
SELECT replica, before_ns AS from_ns, sampled_ns AS until_ns
FROM (SELECT *, lag(sampled_ns) OVER (PARTITION BY replica ORDER BY sampled_ns) AS before_ns FROM readings)
-- of two that lie further apart than an hour and its next, an hour sees one alone
WHERE before_ns // 3600000000000 >= sampled_ns // 3600000000000 - 1 AND (reset OR started_s * 1000000000 > before_ns)
UNION
SELECT replica, before_ns, sampled_ns FROM replica_renewals
