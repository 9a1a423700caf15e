-- description: Base windows of each pool, once for each kind of operation that disrupts them; those that none disrupts are steady (docs/semantics.md#disruptions)
-- grain: is_steady, kind (NULL: all kinds, or steady), pool, start_s
-- reads: kind_events, pool_windows
-- unit: stretch: which disruption of its pool the window lies in, operations whose windows overlap being one; disruption: a name for
-- that over all pools, where so is what an operation on the whole fleet does to its pools
WITH RECURSIVE kinds AS (
    SELECT * FROM kind_events
    UNION ALL
    SELECT * REPLACE (NULL AS kind) FROM kind_events
),
spans AS (
    SELECT kind, pool, event_id, of_pool, min(start_s) AS first_s, max(start_s) AS last_s FROM kinds GROUP BY ALL
),
begun AS (
    SELECT *, coalesce(first_s > max(last_s) OVER earlier, true) AS begins
    FROM spans
    WINDOW earlier AS (PARTITION BY kind, pool ORDER BY first_s, last_s, event_id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
),
numbered AS (
    SELECT *, count(*) FILTER (WHERE begins) OVER (PARTITION BY kind, pool ORDER BY first_s, last_s, event_id) AS number FROM begun
),
-- two operations on the fleet that are one in any pool are one
beside AS (
    SELECT DISTINCT a.kind, a.event_id, b.event_id AS other_id
    FROM numbered AS a
    JOIN numbered AS b ON b.kind IS NOT DISTINCT FROM a.kind AND b.pool = a.pool AND b.number = a.number
    WHERE a.of_pool IS NULL AND b.of_pool IS NULL
),
reached AS (
    SELECT * FROM beside
    UNION
    SELECT r.kind, r.event_id, b.other_id
    FROM reached AS r
    JOIN beside AS b ON b.kind IS NOT DISTINCT FROM r.kind AND b.event_id = r.other_id
),
firsts AS (
    SELECT kind, event_id, min(other_id) AS first_id FROM reached GROUP BY ALL
),
named AS (
    SELECT
        n.event_id, n.kind, n.pool, n.number AS stretch,
        coalesce('fleet ' || min(f.first_id) OVER of_pool, 'pool ' || n.number || ' ' || n.pool) AS disruption
    FROM numbered AS n
    LEFT JOIN firsts AS f ON f.kind IS NOT DISTINCT FROM n.kind AND f.event_id = n.event_id
    WINDOW of_pool AS (PARTITION BY n.kind, n.pool, n.number)
),
disrupted AS (
    SELECT DISTINCT k.kind, k.pool, k.start_s, n.stretch, n.disruption
    FROM kinds AS k
    JOIN named AS n ON n.event_id = k.event_id AND n.pool = k.pool AND n.kind IS NOT DISTINCT FROM k.kind
)
SELECT false AS is_steady, d.kind, d.stretch, d.disruption, w.*
FROM disrupted AS d
JOIN pool_windows AS w ON w.pool = d.pool AND w.start_s = d.start_s
UNION ALL BY NAME
SELECT true AS is_steady, NULL AS kind, NULL AS stretch, NULL AS disruption, w.*
FROM pool_windows AS w
JOIN (SELECT DISTINCT period_from_s, period_until_s FROM kind_events) AS p ON w.start_s >= p.period_from_s AND w.start_s < p.period_until_s
ANTI JOIN kind_events AS e ON e.pool = w.pool AND e.start_s = w.start_s
WHERE w.pool IS NOT NULL
