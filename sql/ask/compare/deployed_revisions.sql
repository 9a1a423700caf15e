-- description: Which revision a deployment put into force, where and from when to when (docs/semantics.md#comparison)
-- grain: pool, replica, from_at
-- reads: ops_events, requests
-- unit: pool and replica as the event names them: neither is the whole fleet; revision NULL: it does not say which
WITH homes AS (
    SELECT replica, min(pool) AS pool
    FROM requests
    WHERE pool IS NOT NULL AND replica IN (SELECT replica FROM ops_events WHERE kind = 'deployment' AND pool IS NULL)
    GROUP BY replica
),
events AS (
    SELECT
        CASE WHEN e.replica IS NULL THEN e.pool END AS pool, e.replica, e.occurred_at, min(coalesce(e.pool, h.pool)) AS home,
        -- of a package URL (CDEvents) its version
        max(CASE WHEN revision LIKE 'pkg:%@%' THEN regexp_extract(revision, '@([^@?#]+)', 1) ELSE revision END) AS revision
    FROM ops_events AS e
    LEFT JOIN homes AS h USING (replica)
    WHERE kind = 'deployment'
    GROUP BY ALL
)
SELECT e.pool, e.replica, e.revision, e.occurred_at AS from_at, min(l.occurred_at) AS until_at
FROM events AS e
LEFT JOIN events AS l
    ON l.occurred_at > e.occurred_at
    AND (l.replica IS NULL AND l.pool IS NULL OR l.replica IS NULL AND l.pool = e.home OR l.replica = e.replica)
GROUP BY ALL
