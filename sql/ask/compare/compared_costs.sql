-- description: What each side cost: its requests, and the idle and unattributed money that falls to it; loaded cost per accepted (docs/semantics.md#money)
-- grain: side
-- reads: compared_requests, compared_sides, compared_windows, side_rows
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
        idle_usd, unattributed_usd, square, accepted_usd, unknown,
        coalesce(requests_usd, 0) AS busy_usd,
        busy_usd + coalesce(idle_usd, 0) + coalesce(unattributed_usd, 0) AS loaded_usd
    FROM compared_windows AS w
    LEFT JOIN own USING (side, start_s)
    LEFT JOIN beside USING (side, start_s)
),
totals AS (
    SELECT
        side,
        sum(unknown) = 0 AS known,
        sum(COLUMNS('^(square|accepted_usd|(idle|unattributed|busy|loaded)_usd)$') ORDER BY start_s)
    FROM windowed
    GROUP BY side
),
priced AS (
    SELECT
        t.side, t.square, s.estimate, s.label_variance,
        coalesce(t.accepted_usd * ratio(s.estimate, s.accepted), 0) AS accepted_usd,
        t.busy_usd / s.estimate AS busy_each,
        t.loaded_usd / s.estimate AS loaded_each
    FROM totals AS t
    JOIN compared_sides AS s USING (side)
    WHERE s.estimate > 0 AND t.known
),
spread AS (
    SELECT
        side,
        coalesce(sum((w.busy_usd - w.estimate * busy_each) ** 2 ORDER BY w.start_s)
            * count(*) / nullif(count(*) - 1, 0), 0) AS busy,
        coalesce(sum((w.loaded_usd - w.estimate * loaded_each) ** 2 ORDER BY w.start_s)
            * count(*) / nullif(count(*) - 1, 0), 0) AS loaded
    FROM windowed AS w
    JOIN priced AS p USING (side)
    GROUP BY side
),
-- a ratio of two sums: its variance by the delta method, over windows, at least that over independent requests
intervals AS (
    SELECT
        side,
        around(busy_each, (greatest(busy, square - 2 * busy_each * accepted_usd + busy_each ** 2 * estimate)
            + busy_each ** 2 * label_variance) / estimate ** 2) AS busy_cost_per_accepted_usd,
        around(loaded_each, (greatest(loaded, square - 2 * loaded_each * accepted_usd + loaded_each ** 2 * estimate)
            + loaded_each ** 2 * label_variance) / estimate ** 2) AS cost_per_accepted_usd
    FROM priced
    JOIN spread USING (side)
)
SELECT
    side,
    CASE WHEN known THEN loaded_usd END AS cost_usd,
    coalesce(idle_usd, 0) AS idle_usd,
    coalesce(unattributed_usd, 0) AS unattributed_usd,
    i.cost_per_accepted_usd,
    i.busy_cost_per_accepted_usd
FROM totals
LEFT JOIN intervals AS i USING (side)
