-- description: Time that a replica was up in each window, and how much of it each basis of cost alone covers
-- grain: replica, step_s
-- reads: busy_steps, cost_pieces, ledger_options, replica_hours, replica_outages, replica_samples, target_hours
-- unit: nanoseconds; seen by samples or attempts; own and pool: shares of the records' time that no better basis covers
-- A replica is up when samples or attempts show it, through pauses of at most staleness_s between them in which its process
-- did not begin anew, and when it was billed.
WITH paused AS (
    SELECT
        replica, step_s, first_ns, last_ns, gaps,
        lag(last_ns) OVER (PARTITION BY replica ORDER BY step_s) AS before_ns
    FROM busy_steps
),
sampled AS (
    SELECT replica, sampled_ns, max(interval_s) AS interval_s
    FROM replica_samples
    WHERE layer = 'engine'
    GROUP BY replica, sampled_ns
),
spans AS (
    SELECT
        replica,
        unnest(list_prepend(first_ns, [g.end_ns for g in gaps])) AS from_ns,
        unnest(list_append([g.begin_ns for g in gaps], last_ns)) AS to_ns,
        'busy' AS source
    FROM paused
    UNION ALL
    SELECT replica, before_ns, first_ns, 'seen'
    FROM paused
    CROSS JOIN ledger_options
    WHERE first_ns > before_ns AND first_ns - before_ns <= staleness_ns
    UNION ALL
    SELECT replica, sampled_ns - (coalesce(interval_s, 0) * 1e9)::BIGINT, sampled_ns, 'seen' FROM sampled
    UNION ALL
    SELECT replica, from_ns, until_ns, 'down' FROM replica_outages
    UNION ALL
    SELECT replica, from_ns, to_ns, 'own' || rank FROM cost_pieces WHERE level = 'replica'
    UNION ALL
    SELECT h.replica, c.from_ns, c.to_ns, 'pool' || c.rank
    FROM (SELECT DISTINCT pool, rank, step_s, from_ns, to_ns FROM cost_pieces WHERE level = 'pool') AS c
    JOIN replica_hours AS h ON h.pool = c.pool AND h.epoch_hour = c.step_s // 3600
),
split AS (
    SELECT
        replica, source, step * step_ns // 1000000000 AS step_s,
        greatest(from_ns, step * step_ns) AS from_ns,
        least(to_ns, (step + 1) * step_ns) AS to_ns
    FROM (
        SELECT s.*, o.step_ns,
            unnest(range(from_ns // step_ns, greatest(to_ns - 1, from_ns) // step_ns + 1)) AS step
        FROM spans AS s
        CROSS JOIN ledger_options AS o
    )
    WHERE step * step_ns // 3600000000000 IN (SELECT epoch_hour FROM target_hours)
),
moments AS (
    SELECT
        replica, step_s, ns,
        sum(change) FILTER (WHERE source = 'busy') AS busy,
        sum(change) FILTER (WHERE source = 'seen') AS seen,
        sum(change) FILTER (WHERE source = 'down') AS down,
        sum(change) FILTER (WHERE source = 'own1') AS own1,
        sum(change) FILTER (WHERE source = 'own2') AS own2,
        sum(change) FILTER (WHERE source = 'own3') AS own3,
        sum(change) FILTER (WHERE source = 'pool1') AS pool1,
        sum(change) FILTER (WHERE source = 'pool2') AS pool2,
        sum(change) FILTER (WHERE source = 'pool3') AS pool3
    FROM (
        SELECT replica, step_s, source, from_ns AS ns, 1 AS change FROM split
        UNION ALL
        SELECT replica, step_s, source, to_ns, -1 FROM split
    )
    GROUP BY replica, step_s, ns
),
stretches AS (
    SELECT
        replica, step_s,
        coalesce(lead(ns) OVER onward - ns, 0) AS long_ns,
        coalesce(sum(busy) OVER onward, 0) > 0
            OR coalesce(sum(seen) OVER onward, 0) > 0 AND coalesce(sum(down) OVER onward, 0) = 0 AS seen,
        coalesce(sum(own1) OVER onward, 0) > 0 AS own1,
        coalesce(sum(own2) OVER onward, 0) > 0 AS own2,
        coalesce(sum(own3) OVER onward, 0) > 0 AS own3,
        coalesce(sum(pool1) OVER onward, 0) > 0 AS pool1,
        coalesce(sum(pool2) OVER onward, 0) > 0 AS pool2,
        coalesce(sum(pool3) OVER onward, 0) > 0 AS pool3
    FROM moments
    WINDOW onward AS (PARTITION BY replica, step_s ORDER BY ns)
),
summed AS (
    SELECT
        replica, step_s,
        sum(CASE WHEN seen OR own1 OR own2 OR own3 THEN long_ns ELSE 0 END)::BIGINT AS up_ns,
        sum(CASE WHEN seen THEN long_ns ELSE 0 END)::BIGINT AS seen_ns,
        sum(CASE WHEN seen AND NOT (own1 OR own2 OR own3 OR pool1 OR pool2 OR pool3) THEN long_ns ELSE 0 END)::BIGINT AS rated_ns,
        ratio(sum(CASE WHEN own2 AND NOT (own1 OR pool1) THEN long_ns ELSE 0 END), sum(long_ns) FILTER (WHERE own2)) AS own2,
        ratio(sum(CASE WHEN own3 AND NOT (own1 OR pool1 OR own2 OR pool2) THEN long_ns ELSE 0 END), sum(long_ns) FILTER (WHERE own3)) AS own3,
        ratio(sum(CASE WHEN pool2 AND NOT (own1 OR pool1) THEN long_ns ELSE 0 END), sum(long_ns) FILTER (WHERE pool2)) AS pool2,
        ratio(sum(CASE WHEN pool3 AND NOT (own1 OR pool1 OR own2 OR pool2) THEN long_ns ELSE 0 END), sum(long_ns) FILTER (WHERE pool3)) AS pool3
    FROM stretches
    GROUP BY replica, step_s
)
SELECT
    replica, step_s, up_ns, seen_ns, rated_ns,
    -- by rank of the basis; a charge of no duration covers nothing and nothing covers it
    [1.0, coalesce(own2, 1.0), coalesce(own3, 1.0)] AS own_shares,
    [1.0, coalesce(pool2, 1.0), coalesce(pool3, 1.0)] AS pool_shares
FROM summed
