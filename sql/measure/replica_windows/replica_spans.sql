-- description: How long each replica was up and busy in each window, of the time that is measured
-- grain: window_s, start_s, replica
-- reads: grains, measured_range, replica_life
-- unit: up_ns, busy_ns: whole nanoseconds add up to the same sum in any order; `appeared`: it came up in this time and window
WITH lived AS (
    SELECT
        l.replica, l.state, g.window_s,
        unnest(range(
            greatest(l.from_ns // 1000000000, p.from_s) // g.window_s * g.window_s,
            least(l.until_ns // 1000000000, p.until_s - 1) + 1,
            g.window_s)) AS start_s,
        l.from_ns, l.until_ns, p.from_s, p.until_s
    FROM replica_life AS l
    CROSS JOIN grains AS g
    CROSS JOIN measured_range AS p
    WHERE l.until_ns >= p.from_s * 1000000000 AND l.from_ns < p.until_s * 1000000000
),
inside AS (
    SELECT
        *,
        greatest(start_s, from_s) * 1000000000 AS begin_ns,
        least(until_ns, least(start_s + window_s, until_s) * 1000000000) - greatest(from_ns, begin_ns) AS inside_ns
    FROM lived
)
SELECT
    window_s, start_s, replica,
    sum(inside_ns) FILTER (WHERE state = 'up')::BIGINT AS up_ns,
    sum(inside_ns) FILTER (WHERE state = 'busy')::BIGINT AS busy_ns,
    bool_or(state = 'up' AND from_ns >= begin_ns) AS appeared
FROM inside
GROUP BY ALL
