-- description: Replicas that telemetry shows in an hour, the pool that they serve and what else they are called (docs/semantics.md#what-a-replica-costs)
-- grain: replica, epoch_hour
-- reads: attempts, declared_names, ledger_options, named_replicas, replica_samples, target_hours
-- A replica's pool is the one most of its attempts of the hour name, else its samples: so slices agree with those of `goodput`.
WITH attempted AS (
    SELECT
        replica, pool, engine_seen,
        -- what lies further away than a request reaches never counts, see replica_life
        unnest(range(
            greatest(started_ns // 3600000000000, part_hour - reach_h),
            greatest(coalesce(ended_ns, started_ns) - 1, started_ns) // 3600000000000 + 1)) AS epoch_hour
    FROM attempts
    CROSS JOIN ledger_options
    WHERE replica IS NOT NULL
),
reported AS (
    SELECT replica, epoch_hour, pool, count(*) AS times, true AS attempted, bool_or(engine_seen) AS by_engine
    FROM attempted
    GROUP BY ALL
    UNION ALL
    SELECT replica, sampled_ns // 3600000000000, pool, count(*), false, true
    FROM replica_samples
    WHERE layer = 'engine'
    GROUP BY ALL
),
called AS (
    SELECT epoch_hour, replica, name FROM named_replicas ANTI JOIN declared_names USING (name)
    UNION
    SELECT epoch_hour, d.replica, d.name
    FROM declared_names AS d
    JOIN (SELECT DISTINCT epoch_hour, replica FROM reported) AS r USING (replica)
),
further AS (
    SELECT epoch_hour, replica, list(name ORDER BY name) AS other_names
    FROM called
    WHERE name <> replica
    GROUP BY epoch_hour, replica
)
SELECT
    replica, epoch_hour,
    first(pool ORDER BY attempted DESC, times DESC, pool) FILTER (WHERE pool IS NOT NULL) AS pool,
    bool_or(NOT attempted) AS sampled,
    bool_or(by_engine) AS by_engine,
    any_value(other_names) AS other_names
FROM reported
LEFT JOIN further USING (epoch_hour, replica)
WHERE epoch_hour IN (SELECT epoch_hour FROM target_hours)
GROUP BY replica, epoch_hour
