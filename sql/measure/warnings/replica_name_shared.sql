-- description: Names that records, metrics, calls, bills or operations of the latest window use and several replicas have, so that each of them stands for none
-- grain: subject
-- reads: cost_records, latest_window, ops_events, replica_names
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
),
used AS (
    SELECT name FROM lately WHERE evidence IN ('record', 'sample', 'upstream')
    UNION
    SELECT c.replica
    FROM cost_records AS c
    JOIN latest_window AS w ON c.period_start < w.window_start + to_seconds(w.window_s) AND c.period_end > w.window_start
    WHERE c.replica IS NOT NULL
    UNION
    SELECT unnest([e.replica, e.subject])
    FROM ops_events AS e
    JOIN latest_window AS w ON e.occurred_at >= w.window_start AND e.occurred_at < w.window_start + to_seconds(w.window_s)
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
    AND n.name IN (SELECT name FROM used WHERE name IS NOT NULL)
GROUP BY n.name
HAVING count(DISTINCT coalesce(a.replica, n.replica)) > 1
