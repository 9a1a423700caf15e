-- description: Names of the latest window that several replicas have, so that each of them stands for none
-- grain: subject
-- reads: latest_window, replica_names
WITH lately AS (
    SELECT n.*
    FROM replica_names AS n
    JOIN latest_window AS w ON n.window_start >= w.window_start AND n.window_start < w.window_start + to_seconds(w.window_s)
),
aliases AS (
    SELECT name, min(replica) AS replica
    FROM lately
    WHERE evidence IN ('resource', 'labels')
    GROUP BY name
    HAVING min(replica) = max(replica)
)
SELECT
    'medium' AS severity,
    n.name AS subject,
    format('{} is a name of several replicas ({}), so it stands for none of them; `[replicas]` in the settings can decide',
        n.name, some_of(list(DISTINCT coalesce(a.replica, n.replica) ORDER BY coalesce(a.replica, n.replica)))) AS message,
    count(DISTINCT coalesce(a.replica, n.replica)) AS affected,
    min(n.window_start) AS first_seen_at,
    max(n.window_start) AS last_seen_at
FROM lately AS n
LEFT JOIN aliases AS a ON a.name = n.replica
WHERE n.evidence IN ('resource', 'labels')
    AND n.name IN (SELECT name FROM lately WHERE evidence IN ('record', 'sample', 'upstream'))
GROUP BY n.name
HAVING count(DISTINCT coalesce(a.replica, n.replica)) > 1
