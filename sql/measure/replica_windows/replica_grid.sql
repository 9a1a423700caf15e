-- description: Every window in which a replica lived, how long it was up and busy in it, and its pool and model (docs/semantics.md#cache-and-replicas)
-- grain: window_s, start_s, replica
-- reads: grains, replica_samples, replica_spans, step_attempts
WITH timed AS (
    SELECT window_s, start_s, replica, sum(up_ns) AS up_ns, sum(busy_ns) AS busy_ns, bool_or(appeared) AS appeared
    FROM replica_spans
    GROUP BY ALL
),
-- attempts name their replica's pool as `goodput` does; the labels of its metrics may name it differently
named AS (
    SELECT step_start_s AS at_s, replica, 0 AS preference, pool, model
    FROM step_attempts
    WHERE replica IS NOT NULL
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
