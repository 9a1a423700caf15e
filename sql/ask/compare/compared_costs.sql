-- description: What each side cost: its requests, and the money beside them that it carries; loaded cost per accepted (docs/semantics.md#comparison)
-- grain: side
-- reads: compared_beside, compared_requests, compared_sides, compared_windows
-- unit: cost_usd is NULL where the cost of some request is unknown
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
windowed AS (
    SELECT
        side, start_s, coalesce(w.estimate, 0) AS estimate,
        idle_usd, overhead_usd, unattributed_usd, square, accepted_usd, unknown,
        coalesce(requests_usd, 0) AS direct_usd,
        direct_usd + coalesce(idle_usd, 0) + coalesce(overhead_usd, 0) + coalesce(unattributed_usd, 0) AS loaded_usd
    FROM compared_windows AS w
    LEFT JOIN own USING (side, start_s)
    -- a side also carries windows before its first request and after its last
    FULL JOIN compared_beside USING (side, start_s)
),
totals AS (
    SELECT
        side,
        sum(unknown) = 0 AS known,
        sum(COLUMNS('^(square|accepted_usd|(idle|overhead|unattributed|direct|loaded)_usd)$') ORDER BY start_s)
    FROM windowed
    GROUP BY side
),
priced AS (
    SELECT
        t.side, t.square, s.estimate, s.label_variance,
        coalesce(t.accepted_usd * ratio(s.estimate, s.accepted), 0) AS accepted_usd,
        t.direct_usd / s.estimate AS direct_each,
        t.loaded_usd / s.estimate AS loaded_each
    FROM totals AS t
    JOIN compared_sides AS s USING (side)
    WHERE s.estimate > 0 AND t.known
),
spread AS (
    SELECT
        side,
        coalesce(sum((w.direct_usd - w.estimate * direct_each) ** 2 ORDER BY w.start_s)
            * count(*) / nullif(count(*) - 1, 0) * (student(count(*) - 1) / 1.959963984540054) ** 2, 0) AS direct,
        coalesce(sum((w.loaded_usd - w.estimate * loaded_each) ** 2 ORDER BY w.start_s)
            * count(*) / nullif(count(*) - 1, 0) * (student(count(*) - 1) / 1.959963984540054) ** 2, 0) AS loaded
    FROM windowed AS w
    JOIN priced AS p USING (side)
    GROUP BY side
),
-- a ratio of two sums: its variance by the delta method, over windows, at least that over independent requests
intervals AS (
    SELECT
        side,
        around(direct_each, greatest(direct, square - 2 * direct_each * accepted_usd + direct_each ** 2 * (estimate + label_variance))
            / estimate ** 2) AS direct_cost_per_accepted_usd,
        around(loaded_each, greatest(loaded, square - 2 * loaded_each * accepted_usd + loaded_each ** 2 * (estimate + label_variance))
            / estimate ** 2) AS cost_per_accepted_usd
    FROM priced
    JOIN spread USING (side)
)
SELECT
    side,
    CASE WHEN known THEN loaded_usd END AS cost_usd,
    coalesce(idle_usd, 0) AS idle_usd,
    coalesce(overhead_usd, 0) AS overhead_usd,
    coalesce(unattributed_usd, 0) AS unattributed_usd,
    i.cost_per_accepted_usd,
    i.direct_cost_per_accepted_usd
FROM totals
LEFT JOIN intervals AS i USING (side)
