-- description: Time that a replica had something in flight, by window: the length of the union of its attempts
-- grain: replica, step_s
-- reads: ledger_options, ledger_pieces, replica_outages
-- unit: busy_ns, first_ns, last_ns in Unix nanoseconds; `gaps` are pauses that do not count as up: too long, or its process began anew in them
WITH followed AS (
    SELECT
        replica, step_s, from_ns, to_ns,
        max(to_ns) OVER (
            PARTITION BY replica, step_s ORDER BY from_ns, to_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS before_ns
    FROM ledger_pieces
    WHERE replica IS NOT NULL
),
interrupted AS (
    SELECT DISTINCT f.replica, f.step_s, f.from_ns, f.before_ns
    FROM followed AS f
    JOIN replica_outages AS o ON o.replica = f.replica AND o.from_ns < f.from_ns AND o.until_ns > f.before_ns
    WHERE f.from_ns > f.before_ns
)
SELECT
    f.replica, f.step_s,
    sum(greatest(0, f.to_ns - greatest(f.from_ns, coalesce(f.before_ns, f.from_ns))))::BIGINT AS busy_ns,
    min(f.from_ns) AS first_ns,
    max(f.to_ns) AS last_ns,
    coalesce(list({'begin_ns': f.before_ns, 'end_ns': f.from_ns} ORDER BY f.from_ns)
        FILTER (WHERE f.from_ns - f.before_ns > o.staleness_ns OR i.replica IS NOT NULL), []) AS gaps
FROM followed AS f
CROSS JOIN ledger_options AS o
LEFT JOIN interrupted AS i
    ON i.replica = f.replica AND i.step_s = f.step_s AND i.from_ns = f.from_ns AND i.before_ns = f.before_ns
GROUP BY f.replica, f.step_s
