-- description: What each side cost: its requests, and the idle and unattributed money that falls to it; loaded cost per accepted (semantics 5)
-- grain: side
-- unit: cost_usd NULL: of some request nobody knows
WITH own AS (
    SELECT
        side, start_s,
        sum(cost_usd ORDER BY cost_usd) AS requests_usd,
        sum(cost_usd ** 2 ORDER BY cost_usd) AS square,
        sum(cost_usd ORDER BY cost_usd) FILTER (WHERE is_accepted) AS accepted_usd,
        count(*) FILTER (WHERE cost_usd IS NULL) AS unknown
    FROM compared_requests
    GROUP BY side, start_s
),
beside AS (
    SELECT
        side, epoch_us(r.ended_at) // 1000000 // w.base_s * w.base_s AS start_s,
        sum(r.cost_usd ORDER BY r.cost_usd) FILTER (WHERE r.bucket = 'idle') AS idle_usd,
        sum(r.cost_usd ORDER BY r.cost_usd) FILTER (WHERE r.bucket <> 'idle') AS unattributed_usd
    FROM side_rows AS r
    JOIN (SELECT DISTINCT side, base_s FROM compared_windows) AS w USING (side)
    WHERE r.bucket IS NOT NULL
    GROUP BY ALL
),
windowed AS (
    SELECT
        side, start_s, w.estimate,
        requests_usd, idle_usd, unattributed_usd, square, accepted_usd, unknown,
        coalesce(requests_usd, 0) + coalesce(idle_usd, 0) + coalesce(unattributed_usd, 0) AS usd
    FROM compared_windows AS w
    LEFT JOIN own USING (side, start_s)
    LEFT JOIN beside USING (side, start_s)
),
totals AS (
    SELECT
        side,
        sum(COLUMNS('^(requests_usd|idle_usd|unattributed_usd|square|accepted_usd)$') ORDER BY start_s),
        CASE WHEN sum(unknown) = 0 THEN sum(usd ORDER BY start_s) END AS cost_usd
    FROM windowed
    GROUP BY side
),
priced AS (
    SELECT t.*, s.estimate, s.label_variance, t.cost_usd / s.estimate AS each_usd, ratio(s.estimate, s.accepted) AS scale
    FROM totals AS t
    JOIN compared_sides AS s USING (side)
    WHERE s.estimate > 0
),
spread AS (
    SELECT
        side,
        sum((w.usd - w.estimate * p.each_usd) ** 2 ORDER BY w.start_s) * count(*) / nullif(count(*) - 1, 0) AS variance
    FROM windowed AS w
    JOIN priced AS p USING (side)
    GROUP BY side
)
SELECT
    side,
    t.cost_usd, t.requests_usd,
    coalesce(t.idle_usd, 0) AS idle_usd,
    coalesce(t.unattributed_usd, 0) AS unattributed_usd,
    -- a ratio of two sums: its variance by the delta method, over windows, at least that over independent requests
    CASE WHEN p.each_usd IS NOT NULL THEN around(p.each_usd, (greatest(coalesce(s.variance, 0),
            p.square - 2 * p.each_usd * coalesce(p.accepted_usd * p.scale, 0) + p.each_usd ** 2 * p.estimate)
        + p.each_usd ** 2 * p.label_variance) / p.estimate ** 2) END AS cost_per_accepted_usd
FROM totals AS t
LEFT JOIN priced AS p USING (side)
LEFT JOIN spread AS s USING (side)
