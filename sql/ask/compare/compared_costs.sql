-- description: What each side cost: its requests, and the money beside them that it carries; loaded cost per accepted (docs/semantics.md#comparison)
-- grain: side
-- reads: compared_residuals, compared_sides, compared_spending, compared_units
-- unit: cost_usd is NULL where the cost of some request is unknown, of `unpriced`; no_cost says why there is no cost per accepted
WITH totals AS (
    SELECT side, sum(COLUMNS('^(idle|overhead|unattributed|direct|loaded)_usd$') ORDER BY start_s)
    FROM compared_spending
    GROUP BY side
),
requested AS (
    SELECT side, count(*) = count(cost_usd) AS is_known, count(*) - count(cost_usd) AS unpriced FROM compared_residuals WHERE dimension = 'all' GROUP BY side
),
priced AS (
    SELECT
        t.*, r.is_known, r.unpriced, s.estimate, s.label_variance, s.drawn_variance, s.unjudged,
        CASE WHEN r.is_known THEN ratio(t.direct_usd, s.estimate) END AS direct_each,
        CASE WHEN r.is_known THEN ratio(t.loaded_usd, s.estimate) END AS loaded_each
    FROM totals AS t
    JOIN compared_sides AS s USING (side)
    JOIN requested AS r USING (side)
),
-- the money beside requests is of windows; over requests and sessions it is taken to stay as it was
charged AS (
    SELECT side, 'window' AS kind, is_served, estimate, direct_usd, loaded_usd, length_s, base_s FROM compared_spending
    UNION ALL
    SELECT side, 'session', true, estimate, cost_usd, cost_usd, 1, 1 FROM compared_units WHERE dimension = 'all' AND kind = 'session'
    UNION ALL
    SELECT side, 'request', true, estimate, cost_usd, cost_usd, 1, 1 FROM compared_residuals WHERE dimension = 'all'
),
spread AS (
    SELECT
        c.side, c.kind,
        -- a window that is cut is as much of one as it is long
        coalesce(sum(c.length_s) FILTER (WHERE c.is_served), 0) / any_value(c.base_s) AS direct_units,
        sum(c.length_s) / any_value(c.base_s) AS loaded_units,
        sum_usd((c.direct_usd - c.estimate * p.direct_each) ** 2) AS direct_squares,
        sum_usd((c.loaded_usd - c.estimate * p.loaded_each) ** 2) AS loaded_squares
    FROM charged AS c
    JOIN priced AS p USING (side)
    GROUP BY c.side, c.kind
),
-- a ratio of two sums: its variance by the delta method
varied AS (
    SELECT
        side, metric, kind, squares * CASE kind WHEN 'request' THEN 1 ELSE units / (units - 1) END AS variance,
        CASE kind WHEN 'request' THEN 'infinity'::DOUBLE ELSE units - 1 END AS df
    FROM (
        SELECT side, kind, 'direct' AS metric, direct_units AS units, direct_squares AS squares FROM spread
        UNION ALL
        SELECT side, kind, 'loaded', loaded_units, loaded_squares FROM spread
    )
    JOIN (SELECT side, n FROM compared_sides) USING (side)
    -- requests that are all by themselves in their sessions are independent; less than two windows show nothing of how these vary
    WHERE kind = 'request' OR units >= 2 AND (kind = 'window' OR units < n)
),
widest AS (
    SELECT
        side, metric,
        arg_max({variance: variance, df: df}, [variance * student_beyond(df, 0.025) ** 2, df]) AS wide,
        arg_max({variance: variance, df: df}, [variance * student_beyond(df, 0.025) ** 2, df]) FILTER (WHERE kind <> 'window') AS alone
    FROM varied
    GROUP BY side, metric
),
estimates AS (
    SELECT
        p.side, w.metric,
        CASE w.metric WHEN 'direct' THEN p.direct_each ELSE p.loaded_each END AS each,
        {
            scale: 'cost', value: each, variance: w.wide.variance / p.estimate ** 2, df: w.wide.df,
            alone: {variance: w.alone.variance / p.estimate ** 2, df: w.alone.df}, size: NULL, strata: [],
            -- what nobody judged counts as accepted, and may not be; where credits exceed the cost, fewer accepted have more of them each
            below: CASE WHEN p.unjudged = 0 OR each >= 0 THEN 0 ELSE -each * ratio(p.unjudged, p.estimate - p.unjudged) END,
            above: CASE WHEN p.unjudged = 0 OR each < 0 THEN 0 ELSE each * ratio(p.unjudged, p.estimate - p.unjudged) END,
            label_variance: each ** 2 * p.label_variance / p.estimate ** 2,
            drawn_variance: each ** 2 * p.drawn_variance / p.estimate ** 2
        } AS estimate
    FROM priced AS p
    JOIN widest AS w USING (side)
    WHERE each IS NOT NULL
)
SELECT
    side,
    CASE WHEN p.is_known THEN p.loaded_usd END AS cost_usd,
    coalesce(p.idle_usd, 0) AS idle_usd,
    coalesce(p.overhead_usd, 0) AS overhead_usd,
    coalesce(p.unattributed_usd, 0) AS unattributed_usd,
    l.estimate AS cost_per_accepted_usd,
    d.estimate AS direct_cost_per_accepted_usd,
    p.unpriced,
    CASE
        WHEN NOT p.is_known THEN 'cost_unknown'
        WHEN p.estimate = 0 THEN 'nothing_accepted'
        WHEN p.loaded_each IS NULL THEN 'labels_not_drawn'
    END AS no_cost
FROM priced AS p
LEFT JOIN (FROM estimates WHERE metric = 'loaded') AS l USING (side)
LEFT JOIN (FROM estimates WHERE metric = 'direct') AS d USING (side)
