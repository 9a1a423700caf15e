-- description: What each side did in each base window of its time: one window's requests fare alike, so windows are the sample
-- grain: side, start_s
-- reads: compared_requests, compared_units, goodput, side_spans
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
observed AS (
    SELECT min(epoch_us(g.window_start) // 1000000) AS first_s, max(epoch_us(g.window_start) // 1000000) AS last_s
    FROM goodput AS g
    JOIN (SELECT any_value(base_s) AS base_s FROM ends) AS e ON g.window_s = e.base_s
    WHERE g.slice = 'overall' AND NOT g.partial
),
-- windows in which the side answered nothing count too, and those in which nobody asked: a pause of what is observed
lived AS (
    SELECT DISTINCT e.side, e.base_s, unnest(range(
        greatest(coalesce(epoch_us(s.from_at) // 1000000 // e.base_s * e.base_s, CASE WHEN s.is_bounded THEN o.first_s ELSE e.first_s END), o.first_s),
        least(coalesce(ceil(epoch_us(s.until_at) / 1e6)::BIGINT, CASE WHEN s.is_bounded THEN o.last_s ELSE e.last_s END + e.base_s), o.last_s + e.base_s),
        e.base_s)) AS start_s
    FROM ends AS e
    JOIN side_spans AS s USING (side)
    CROSS JOIN observed AS o
    WHERE o.first_s IS NOT NULL
)
SELECT
    side, start_s, base_s,
    coalesce(w.n, 0) AS n,
    coalesce(w.succeeded, 0) AS succeeded,
    coalesce(w.estimate, 0) AS estimate
FROM lived AS l
FULL JOIN windowed AS w USING (side, start_s, base_s)
