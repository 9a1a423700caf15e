-- description: What each side did in each base window from its first to its last: one window's requests fare alike, so windows are the sample
-- grain: side, start_s
-- reads: compared_requests, compared_units, goodput
WITH windowed AS (
    SELECT
        r.side, r.start_s, any_value(r.base_s) AS base_s,
        count(*) AS n,
        count(*) FILTER (WHERE r.pass_success) AS succeeded,
        any_value(u.estimate) AS estimate
    FROM compared_requests AS r
    JOIN compared_units AS u ON u.side = r.side AND u.dimension = 'all' AND u.kind = 'window' AND u.unit = r.start_s::VARCHAR
    GROUP BY r.side, r.start_s
),
ends AS (
    SELECT side, min(start_s) AS first_s, max(start_s) AS last_s, any_value(base_s) AS base_s FROM windowed GROUP BY side
),
-- windows in which the side answered nothing count too, where there was telemetry at all
lived AS (
    SELECT e.side, epoch_us(g.window_start) // 1000000 AS start_s, e.base_s
    FROM goodput AS g
    JOIN ends AS e
        ON g.slice = 'overall' AND g.window_s = e.base_s AND NOT g.partial
        AND epoch_us(g.window_start) // 1000000 BETWEEN e.first_s AND e.last_s
)
SELECT
    side, start_s, base_s,
    coalesce(w.n, 0) AS n,
    coalesce(w.succeeded, 0) AS succeeded,
    coalesce(w.estimate, 0) AS estimate
FROM lived AS l
FULL JOIN windowed AS w USING (side, start_s, base_s)
