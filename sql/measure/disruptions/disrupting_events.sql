-- description: Ops events with the pool that they concern and the latest that their disruption may end (docs/semantics.md#disruptions)
-- grain: event_id
-- reads: cache_by_replica, disruption_caps, ops_events
WITH homes AS (
    SELECT replica, arg_max(pool, window_start) FILTER (WHERE pool IS NOT NULL) AS pool
    FROM cache_by_replica
    GROUP BY replica
)
SELECT
    e.event_id, e.kind, e.occurred_at, e.replica, e.revision,
    -- the pool of an event that names only a replica comes from its attempts; one that names neither concerns the fleet
    coalesce(e.pool, h.pool, CASE WHEN e.replica IS NOT NULL THEN 'unknown' END) AS pool,
    epoch_us(e.occurred_at) / 1e6 AS occurred_s,
    epoch_us(e.occurred_at) / 1e6 + c.cap_s AS cap_until_s
FROM ops_events AS e
JOIN disruption_caps AS c USING (kind)
LEFT JOIN homes AS h USING (replica)
