-- description: Operations of the last 7 measured days on pools, replicas or other subjects of which there is no telemetry
-- grain: subject
-- reads: ops_events, recent_windows, replica_windows, seen_names
WITH days AS (
    SELECT min(window_start) AS from_at, max(window_start) + to_seconds(any_value(window_s)) AS until_at FROM recent_windows
),
known AS (
    SELECT 'pool' AS what, name FROM seen_names WHERE dimension = 'pool'
    UNION
    SELECT 'pool', pool FROM replica_windows WHERE pool IS NOT NULL
    UNION
    SELECT 'replica', replica FROM replica_windows
),
named AS (
    SELECT
        CASE WHEN e.pool IS NOT NULL THEN 'pool' WHEN e.replica IS NOT NULL THEN 'replica' ELSE 'subject' END AS what,
        coalesce(e.pool, e.replica, e.subject) AS name,
        count(*) AS events, min(e.occurred_at) AS first_at, max(e.occurred_at) AS last_at,
        list(DISTINCT e.subject ORDER BY e.subject) FILTER (WHERE e.subject IS NOT NULL) AS subjects
    FROM ops_events AS e
    JOIN days AS d ON e.occurred_at >= d.from_at AND e.occurred_at < d.until_at
    WHERE coalesce(e.pool, e.replica, e.subject) IS NOT NULL
    GROUP BY ALL
)
SELECT
    CASE n.what WHEN 'subject' THEN 'low' ELSE 'medium' END AS severity,
    format('{} {}', n.what, n.name) AS subject,
    format('{} operation(s) name {} {}, {}. Seen were {}. {}',
        n.events, n.what, n.name,
        CASE n.what WHEN 'subject' THEN 'which is no pool or replica: they count for the whole fleet'
            ELSE 'of which there is no telemetry: what they did is not measured' END,
        coalesce((SELECT some_of(list(k.name ORDER BY k.name)) FROM known AS k
            WHERE k.what = CASE n.what WHEN 'replica' THEN 'replica' ELSE 'pool' END), 'none'),
        coalesce(
            format('[events.{}s] in the settings maps the subject of an event ({}) to one of them',
                CASE n.what WHEN 'replica' THEN 'replica' ELSE 'pool' END, some_of(n.subjects)),
            'Let the event name one of them')) AS message,
    n.events AS affected,
    n.first_at AS first_seen_at,
    n.last_at AS last_seen_at
FROM named AS n
ANTI JOIN known AS k ON k.what = n.what AND k.name = n.name
