-- description: Base windows of each pool, once for each kind of operation that disrupts them; those that none disrupts are steady (docs/semantics.md#disruptions)
-- grain: is_steady, kind (NULL: all kinds, or steady), pool, start_s
-- reads: kind_events, pool_windows
-- unit: disruption: a name for the disruption that the window lies in. Operations whose windows overlap are one, and so is what an
-- operation on the whole fleet does to its pools
WITH kinds AS (
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
named AS (
    SELECT
        event_id, kind, pool,
        coalesce('fleet ' || min(event_id) FILTER (WHERE of_pool IS NULL) OVER stretch, 'pool ' || number || ' ' || pool) AS disruption
    FROM numbered
    WINDOW stretch AS (PARTITION BY kind, pool, number)
),
disrupted AS (
    SELECT DISTINCT k.kind, k.pool, k.start_s, n.disruption
    FROM kinds AS k
    JOIN named AS n ON n.event_id = k.event_id AND n.pool = k.pool AND n.kind IS NOT DISTINCT FROM k.kind
)
SELECT false AS is_steady, d.kind, d.disruption, w.*
FROM disrupted AS d
JOIN pool_windows AS w ON w.pool = d.pool AND w.start_s = d.start_s
UNION ALL BY NAME
SELECT true AS is_steady, NULL AS kind, NULL AS disruption, w.*
FROM pool_windows AS w
JOIN (SELECT DISTINCT period_from_s, period_until_s FROM kind_events) AS p ON w.start_s >= p.period_from_s AND w.start_s < p.period_until_s
ANTI JOIN kind_events AS e ON e.pool = w.pool AND e.start_s = w.start_s
WHERE w.pool IS NOT NULL
