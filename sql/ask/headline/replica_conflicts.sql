-- description: Replicas of the latest published day (else the longest window) that may be one under two names, and names that two replicas share, a line each
-- grain: line
-- reads: replica_names, replica_windows
WITH latest AS (
    SELECT window_s, max(window_start) AS window_start
    FROM replica_windows
    WHERE window_s = (SELECT max(window_s) FROM replica_windows)
    GROUP BY window_s
),
seen AS (
    SELECT
        replica,
        attempts > 0 AS in_records,
        coalesce(restarts, mean_kv_usage_ratio, mean_running_requests, mean_waiting_requests) IS NOT NULL AS in_metrics
    FROM replica_windows
    JOIN latest USING (window_s, window_start)
),
apart AS (
    SELECT
        list_sort(list(replica) FILTER (WHERE NOT in_metrics)) AS recorded,
        list_sort(list(replica) FILTER (WHERE NOT in_records)) AS sampled
    FROM seen
    WHERE in_records <> in_metrics
),
lately AS (
    SELECT n.*
    FROM replica_names AS n
    JOIN latest AS w ON n.window_start >= w.window_start AND n.window_start < w.window_start + to_seconds(w.window_s)
),
aliases AS (
    SELECT name, min(replica) AS replica
    FROM lately
    WHERE evidence IN ('resource', 'labels')
    GROUP BY name
    HAVING min(replica) = max(replica)
),
shared AS (
    SELECT n.name, list_sort(list(DISTINCT coalesce(a.replica, n.replica))) AS replicas
    FROM lately AS n
    LEFT JOIN aliases AS a ON a.name = n.replica
    WHERE n.evidence IN ('resource', 'labels')
        AND n.name IN (SELECT name FROM lately WHERE evidence IN ('record', 'sample', 'upstream'))
    GROUP BY n.name
    HAVING count(DISTINCT coalesce(a.replica, n.replica)) > 1
)
SELECT
    format('Replicas in records alone: {}; in metrics alone: {}. Where two of them are one, `[replicas]` in the settings names them',
        array_to_string(recorded[:5], ', ') || CASE WHEN len(recorded) > 5 THEN ' ...' ELSE '' END,
        array_to_string(sampled[:5], ', ') || CASE WHEN len(sampled) > 5 THEN ' ...' ELSE '' END) AS line
FROM apart
WHERE len(recorded) > 0 AND len(sampled) > 0
UNION ALL
SELECT format('{} is a name of several replicas ({}), so it stands for none of them; `[replicas]` in the settings can decide',
    name, array_to_string(replicas, ', '))
FROM shared
ORDER BY line
