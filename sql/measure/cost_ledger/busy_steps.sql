-- description: Time that a replica had something in flight, by window: the length of the union of its attempts
-- grain: replica, step_s
-- reads: ledger_options, ledger_pieces
-- unit: busy_ns, first_ns, last_ns in Unix nanoseconds; `gaps` are pauses too long to count as up
WITH followed AS (
    SELECT
        replica, step_s, from_ns, to_ns,
        max(to_ns) OVER (
            PARTITION BY replica, step_s ORDER BY from_ns, to_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS before_ns
    FROM ledger_pieces
    WHERE replica IS NOT NULL
)
SELECT
    replica, step_s,
    sum(greatest(0, to_ns - greatest(from_ns, coalesce(before_ns, from_ns))))::BIGINT AS busy_ns,
    min(from_ns) AS first_ns,
    max(to_ns) AS last_ns,
    coalesce(list({'begin_ns': before_ns, 'end_ns': from_ns} ORDER BY from_ns)
        FILTER (WHERE from_ns - before_ns > o.staleness_ns), []) AS gaps
FROM followed
CROSS JOIN ledger_options AS o
GROUP BY replica, step_s
