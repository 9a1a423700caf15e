-- description: Every window in which a replica lived, how long it was up and busy in it, and its pool and model (docs/semantics.md#cache-and-replicas)
-- grain: window_s, start_s, replica
-- reads: attempts, grains, measured_range, replica_life, replica_samples
WITH lived AS (
    SELECT
        l.replica, l.state, g.window_s,
        unnest(range(
            greatest(l.from_ns // 1000000000, p.from_s) // g.window_s * g.window_s,
            least(l.until_ns // 1000000000, p.until_s - 1) + 1,
            g.window_s)) AS start_s,
        l.from_ns, l.until_ns
    FROM replica_life AS l
    CROSS JOIN grains AS g
    CROSS JOIN measured_range AS p
    WHERE l.until_ns >= p.from_s * 1000000000 AND l.from_ns < p.until_s * 1000000000
),
-- whole nanoseconds add up to the same sum in any order
timed AS (
    SELECT
        window_s, start_s, replica,
        sum(inside_ns) FILTER (WHERE state = 'up') AS up_ns,
        sum(inside_ns) FILTER (WHERE state = 'busy') AS busy_ns,
        bool_or(state = 'up' AND from_ns >= start_s * 1000000000) AS appeared
    FROM (
        SELECT
            *,
            least(until_ns, (start_s + window_s) * 1000000000) - greatest(from_ns, start_s * 1000000000) AS inside_ns
        FROM lived
    )
    GROUP BY ALL
),
-- attempts name their replica's pool as `goodput` does; the labels of its metrics may name it differently
named AS (
    SELECT ended_ns // 1000000000 AS at_s, replica, 0 AS preference, pool, model
    FROM attempts
    WHERE replica IS NOT NULL AND ended_ns IS NOT NULL
    UNION ALL
    SELECT DISTINCT sampled_ns // 1000000000, replica, 1, pool, model FROM replica_samples WHERE layer = 'engine'
),
owners AS (
    SELECT
        g.window_s, n.at_s // g.window_s * g.window_s AS start_s, n.replica,
        min(n.pool) FILTER (WHERE n.preference = 0) AS own_pool,
        max(n.pool) FILTER (WHERE n.preference = 0) AS other_own_pool,
        min(n.pool) FILTER (WHERE n.preference = 1) AS labelled_pool,
        max(n.pool) FILTER (WHERE n.preference = 1) AS other_labelled_pool,
        CASE WHEN max(n.model) = min(n.model) THEN max(n.model) END AS model
    FROM named AS n
    CROSS JOIN grains AS g
    GROUP BY ALL
)
SELECT
    t.window_s, t.start_s, t.replica,
    -- where there are several, none is the replica's own
    CASE
        WHEN o.own_pool IS NOT NULL THEN CASE WHEN o.own_pool = o.other_own_pool THEN o.own_pool END
        WHEN o.labelled_pool = o.other_labelled_pool THEN o.labelled_pool
    END AS pool,
    o.model,
    t.up_ns / 1e9 AS up_s,
    coalesce(t.busy_ns, 0) / 1e9 AS busy_s,
    t.appeared
FROM timed AS t
LEFT JOIN owners AS o USING (window_s, start_s, replica)
