-- description: Names of replicas that several processes bear at the same time: pods of one name in two clusters, which count as one replica
-- grain: subject
-- reads: serving_records
WITH lives AS (
    SELECT
        replica, list_filter(string_split(replica_names, ' '), lambda n: n <> replica) AS further,
        min(started_ns) AS first_ns, max(coalesce(ended_ns, started_ns)) AS last_ns
    FROM serving_records
    WHERE layer = 'engine' AND replica IS NOT NULL AND replica_names IS NOT NULL
    GROUP BY ALL
),
-- one of a name may follow another; processes of one pod have its uid in common
beside AS (
    SELECT
        a.replica, unnest([a.further[1], b.further[1]]) AS process,
        greatest(a.first_ns, b.first_ns) AS from_ns, least(a.last_ns, b.last_ns) AS until_ns
    FROM lives AS a
    JOIN lives AS b ON a.replica = b.replica AND a.further < b.further AND NOT list_has_any(a.further, b.further)
    WHERE least(a.last_ns, b.last_ns) - greatest(a.first_ns, b.first_ns) > 60000000000
)
SELECT
    'medium' AS severity,
    replica AS subject,
    format('{} processes are called {} at the same time ({}): they count as one replica, with one rate and one idle time; `attributes.replica` in the settings can prefer what tells them apart, such as k8s.pod.uid',
        count(DISTINCT process), replica, some_of(list(DISTINCT process ORDER BY process))) AS message,
    count(DISTINCT process) AS affected,
    at_utc(min(from_ns)) AS first_seen_at,
    at_utc(max(until_ns)) AS last_seen_at
FROM beside
GROUP BY replica
