-- description: What each side did in each base window of its time: one window's requests fare alike, so windows are the sample
-- grain: side, start_s
-- reads: compared_requests, compared_units, goodput, side_spans
-- unit: length_s: the side's time in the window, less than base_s where a bound lies within it
-- unit: is_apart: both sides have time in the window, but never at once
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
overall AS (
    SELECT epoch_us(g.window_start) AS start_us, coalesce(g.observed_s, g.window_s) * 1000000 AS observed_us, g.window_s, g.partial
    FROM goodput AS g
    JOIN (SELECT any_value(base_s) AS base_s FROM ends) AS e ON g.window_s = e.base_s
    WHERE g.slice = 'overall'
),
-- the whole windows that were observed, and where within a window before and after them telemetry begins and ends
observed AS (
    SELECT
        min(start_us // 1000000) FILTER (WHERE NOT partial) AS first_s, max(start_us // 1000000) FILTER (WHERE NOT partial) AS last_s,
        min(start_us + window_s * 1000000 - CASE WHEN partial THEN observed_us ELSE window_s * 1000000 END)::BIGINT AS from_us,
        max(start_us + CASE WHEN partial THEN observed_us ELSE window_s * 1000000 END)::BIGINT AS until_us
    FROM overall
),
-- an open end reaches as far as there is any window, the side's own or one that is observed
bounded AS (
    SELECT
        e.side,
        greatest(epoch_us(s.from_at), o.from_us, 1000000 * CASE WHEN s.is_bounded THEN least(e.first_s, o.first_s) ELSE e.first_s END) AS from_us,
        least(epoch_us(s.until_at), o.until_us, 1000000 * (CASE WHEN s.is_bounded THEN greatest(e.last_s, o.last_s) ELSE e.last_s END + e.base_s)) AS until_us
    FROM ends AS e
    JOIN side_spans AS s USING (side)
    CROSS JOIN observed AS o
),
-- a revision may be deployed in several places at once: their time counts once
begun AS (
    SELECT
        side, from_us, until_us,
        coalesce(from_us > max(until_us) OVER (PARTITION BY side ORDER BY from_us, until_us ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), true)
            AS is_new
    FROM bounded
    WHERE from_us < until_us
),
joined AS (
    SELECT side, from_us, until_us, count(*) FILTER (WHERE is_new) OVER (PARTITION BY side ORDER BY from_us, until_us ROWS UNBOUNDED PRECEDING) AS nth
    FROM begun
),
spans AS (
    SELECT side, min(from_us) AS from_us, max(until_us) AS until_us FROM joined GROUP BY side, nth
),
-- windows in which the side answered nothing count too, and those in which nobody asked: a pause of what is observed
lived AS (
    SELECT side, unnest(range(
        greatest(s.from_us // 1000000 // e.base_s * e.base_s, o.first_s),
        least(ceil(s.until_us / 1e6)::BIGINT, o.last_s + e.base_s),
        e.base_s)) AS start_s
    FROM spans AS s
    JOIN ends AS e USING (side)
    CROSS JOIN observed AS o
    WHERE o.first_s IS NOT NULL
    UNION
    SELECT side, start_s FROM windowed
),
parts AS (
    SELECT
        l.side, l.start_s,
        greatest(s.from_us, 1000000 * l.start_s) AS from_us,
        least(s.until_us, 1000000 * (l.start_s + e.base_s)) AS until_us
    FROM lived AS l
    JOIN ends AS e USING (side)
    JOIN spans AS s ON s.side = l.side AND s.from_us < 1000000 * (l.start_s + e.base_s) AND s.until_us > 1000000 * l.start_s
),
timed AS (
    SELECT side, start_s, (sum(until_us - from_us) / 1e6)::DECIMAL(18, 6) AS length_s FROM parts GROUP BY side, start_s
),
met AS (
    SELECT a.side, a.start_s, NOT bool_or(a.from_us < b.until_us AND b.from_us < a.until_us) AS is_apart
    FROM parts AS a
    JOIN parts AS b ON b.start_s = a.start_s AND b.side[2:] = a.side[2:] AND b.side <> a.side
    GROUP BY a.side, a.start_s
)
SELECT
    side, start_s, e.base_s,
    coalesce(t.length_s, 0) AS length_s,
    coalesce(m.is_apart, false) AS is_apart,
    coalesce(w.n, 0) AS n,
    coalesce(w.succeeded, 0) AS succeeded,
    coalesce(w.estimate, 0) AS estimate
FROM lived AS l
JOIN ends AS e USING (side)
LEFT JOIN windowed AS w USING (side, start_s)
LEFT JOIN timed AS t USING (side, start_s)
LEFT JOIN met AS m USING (side, start_s)
