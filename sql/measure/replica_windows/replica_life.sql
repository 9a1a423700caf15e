-- description: Stretches of time in which each replica lived, and in which it had attempts in flight (docs/semantics.md#money, #cache-and-replicas)
-- grain: replica, state, from_ns
-- reads: attempts, ledger_options, replica_outages, replica_samples
-- What an attempt took further back than a request reaches may or may not have been read: it never counts.
WITH lives AS (
    SELECT
        replica, greatest(started_ns, (part_hour - reach_h) * 3600000000000) AS from_ns, greatest(ended_ns, started_ns) AS until_ns,
        coalesce(engine_seen, false) OR outcome = 'ok' AS is_served
    FROM attempts
    CROSS JOIN ledger_options
    WHERE replica IS NOT NULL
),
-- who waits in vain for a process that is gone shows no life of it: what began before an outage ended with it for the
-- replica, and what began in it reached the next process at the earliest
within_reach AS (
    SELECT
        t.replica,
        max(CASE WHEN t.from_ns > o.from_ns THEN o.until_ns ELSE t.from_ns END) AS from_ns,
        min(CASE WHEN t.from_ns <= o.from_ns THEN o.from_ns ELSE t.until_ns END) AS until_ns
    FROM lives AS t
    JOIN replica_outages AS o ON o.replica = t.replica AND o.from_ns < t.until_ns AND o.until_ns > t.from_ns
    WHERE NOT t.is_served
    GROUP BY t.replica, t.from_ns, t.until_ns
    UNION ALL
    SELECT replica, from_ns, until_ns FROM lives WHERE is_served
    UNION ALL
    SELECT t.replica, t.from_ns, t.until_ns
    FROM lives AS t
    ANTI JOIN replica_outages AS o ON o.replica = t.replica AND o.from_ns < t.until_ns AND o.until_ns > t.from_ns
    WHERE NOT t.is_served
),
served AS MATERIALIZED (
    SELECT *, from_ns >> 32 AS brief FROM within_reach WHERE from_ns <= until_ns
),
-- within some four seconds of a replica that is busy nothing begins a stretch: what is sorted one by one is the rest
briefs AS (
    SELECT
        *,
        max(until_ns) OVER (PARTITION BY replica ORDER BY brief ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before_ns
    FROM (SELECT replica, brief, max(from_ns) AS from_ns, max(until_ns) AS until_ns FROM served GROUP BY replica, brief)
),
loose AS (
    SELECT
        s.replica, s.from_ns, s.until_ns,
        greatest(b.before_ns, max(s.until_ns) OVER (
            PARTITION BY s.replica, s.brief ORDER BY s.from_ns, s.until_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)) AS before_ns
    FROM served AS s
    JOIN briefs AS b ON b.replica = s.replica AND b.brief = s.brief
    WHERE b.before_ns IS NULL OR b.from_ns > b.before_ns
),
busy AS (
    -- the latest end before a stretch begins is the end of the stretch before it
    SELECT
        s.replica, s.from_ns,
        coalesce(lead(s.before_ns) OVER (PARTITION BY s.replica ORDER BY s.from_ns, s.until_ns), e.end_ns) AS until_ns
    FROM loose AS s
    JOIN (SELECT replica, max(until_ns) AS end_ns FROM briefs GROUP BY replica) AS e USING (replica)
    WHERE s.before_ns IS NULL OR s.from_ns > s.before_ns
),
signs AS (
    SELECT
        *,
        max(until_ns) OVER (
            PARTITION BY replica ORDER BY from_ns, until_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before_ns
    FROM (
        SELECT * FROM busy
        UNION ALL
        SELECT DISTINCT replica, sampled_ns, sampled_ns FROM replica_samples WHERE layer = 'engine'
    )
),
-- signs after which it was down
interrupted AS (
    SELECT DISTINCT s.replica, s.from_ns, s.before_ns
    FROM signs AS s
    JOIN replica_outages AS o ON o.replica = s.replica AND o.from_ns < s.from_ns AND o.until_ns > s.before_ns
    WHERE s.from_ns > s.before_ns
)
SELECT replica, 'busy' AS state, from_ns, until_ns FROM busy
UNION ALL
-- between two signs of life no further apart than staleness_s a replica is up, unless its process began anew between them
SELECT
    s.replica, 'up', s.from_ns,
    coalesce(lead(s.before_ns) OVER (PARTITION BY s.replica ORDER BY s.from_ns), e.end_ns)
FROM signs AS s
CROSS JOIN ledger_options AS o
JOIN (SELECT replica, max(until_ns) AS end_ns FROM signs GROUP BY replica) AS e USING (replica)
LEFT JOIN interrupted AS i ON i.replica = s.replica AND i.from_ns = s.from_ns AND i.before_ns = s.before_ns
WHERE s.before_ns IS NULL OR s.from_ns > s.before_ns + o.staleness_ns OR i.replica IS NOT NULL
