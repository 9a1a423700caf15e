-- description: Routes, models and pools of a workload beside the one of them with most requests, in the windows that both served: what was accepted, what an accepted answer cost, and how sure the differences are
-- grain: period, workload, divided_by, name
-- reads: goodput, period_totals, shown_periods, shown_slices, workloads
-- unit: gap: share accepted less that of `beside`, gap_half half of its 95 % interval for windows like these; gap_usd, gap_usd_half: the same of the price of an accepted answer
-- unit: error, error_usd: standard errors, of windows in pairs; p, p_usd: how often chance alone makes a difference as large; windows: those that both served and of which answers were judged, if a judge decides; busy_gap, quiet_gap: of the third of them with most requests of both, and of the others
WITH windowed AS (
    SELECT
        p.period, g.workload, g.slice, coalesce(g.route, g.model, g.pool) AS name, g.window_start, g.window_s,
        g.offered, g.goodput_rps * g.window_s AS accepted, g.cost_usd, g.direct_cost_usd AS direct_usd
    FROM goodput AS g
    JOIN shown_periods AS p ON g.window_s = p.drawn_s AND g.window_start >= p.from_at AND g.window_start < p.until_at
    LEFT JOIN (SELECT workload, unlabelled FROM workloads WHERE gate = 'quality') AS q USING (workload)
    WHERE g.slice IN ('workload_route', 'workload_model', 'workload_pool') AND g.offered > 0
        AND coalesce(g.route, g.model, g.pool) NOT IN ('unknown', '(other)')
        -- what nobody judged counts as one bound says: that shows how much was judged and not how good it was
        AND (g.labelled = g.need_label OR g.labelled > 0 AND q.unlabelled = 'estimate')
),
whole AS (
    SELECT t.period, s.slice, s.workload, coalesce(s.route, s.model, s.pool) AS name, t.offered, t.accepted, t.ratio, t.price_usd
    FROM period_totals AS t
    JOIN shown_slices AS s USING (choice)
    WHERE s.slice IN ('workload_route', 'workload_model', 'workload_pool') AND t.ratio IS NOT NULL
),
largest AS (
    SELECT *
    FROM whole
    WHERE name NOT IN ('unknown', '(other)')
    QUALIFY row_number() OVER (PARTITION BY period, slice, workload ORDER BY offered DESC, name) = 1
),
paired AS (
    SELECT
        a.period, a.slice, a.workload, a.name, a.window_start, a.window_s,
        a.offered, a.accepted, a.cost_usd, a.direct_usd,
        b.offered AS other_offered, b.accepted AS other_accepted, b.cost_usd AS other_usd, b.direct_usd AS other_direct_usd,
        ntile(3) OVER (PARTITION BY a.period, a.slice, a.workload, a.name ORDER BY a.offered + b.offered DESC, a.window_start) = 1 AS is_busy
    FROM windowed AS a
    JOIN largest AS l ON l.period = a.period AND l.slice = a.slice AND l.workload = a.workload AND l.name <> a.name
    JOIN windowed AS b
        ON b.period = a.period AND b.slice = a.slice AND b.workload = a.workload AND b.name = l.name AND b.window_start = a.window_start
),
summed AS (
    SELECT
        period, slice, workload, name, count(*) AS windows,
        sum(offered) AS offered, sum(other_offered) AS other_offered,
        CASE WHEN count(*) = count(accepted) THEN sum(accepted) END AS accepted,
        CASE WHEN count(*) = count(other_accepted) THEN sum(other_accepted) END AS other_accepted,
        CASE WHEN count(*) = count(cost_usd) THEN sum(cost_usd) END AS cost_usd,
        CASE WHEN count(*) = count(other_usd) THEN sum(other_usd) END AS other_usd,
        sum(direct_usd) AS direct_usd, sum(other_direct_usd) AS other_direct_usd,
        sum(accepted) FILTER (WHERE is_busy) / sum(offered) FILTER (WHERE is_busy)
            - sum(other_accepted) FILTER (WHERE is_busy) / sum(other_offered) FILTER (WHERE is_busy) AS busy_gap,
        sum(accepted) FILTER (WHERE NOT is_busy) / sum(offered) FILTER (WHERE NOT is_busy)
            - sum(other_accepted) FILTER (WHERE NOT is_busy) / sum(other_offered) FILTER (WHERE NOT is_busy) AS quiet_gap
    FROM paired
    GROUP BY period, slice, workload, name
    -- Student's t of fewer is so wide that it shows nothing
    HAVING count(*) > 5
),
-- what a window adds to each side's error beyond what its requests or accepted answers add as a rule
strayed AS (
    SELECT
        p.period, p.slice, p.workload, p.name, p.window_start, p.window_s,
        (p.accepted - s.accepted / s.offered * p.offered) / s.offered
            - (p.other_accepted - s.other_accepted / s.other_offered * p.other_offered) / s.other_offered AS stray,
        (p.cost_usd - s.cost_usd / s.accepted * p.accepted) / nullif(s.accepted, 0) AS loaded,
        (p.other_usd - s.other_usd / s.other_accepted * p.other_accepted) / nullif(s.other_accepted, 0) AS other_loaded,
        (p.direct_usd - s.direct_usd / s.accepted * p.accepted) / nullif(s.accepted, 0) AS direct,
        (p.other_direct_usd - s.other_direct_usd / s.other_accepted * p.other_accepted) / nullif(s.other_accepted, 0) AS other_direct
    FROM paired AS p
    JOIN summed AS s USING (period, slice, workload, name)
),
-- what both have in common cancels; of idle time and overhead each carries a part of its own, so that of cost no more cancels than of
-- what was spent on requests themselves (docs/semantics.md#comparison)
varied AS (
    SELECT
        a.period, a.slice, a.workload, a.name, count(*) AS windows,
        sqrt(sum(a.stray ** 2) * count(*) / (count(*) - 1)) AS error,
        sqrt(greatest(0, sum(a.loaded ** 2 + a.other_loaded ** 2 - 2 * a.direct * a.other_direct)) * count(*) / (count(*) - 1)) AS error_usd,
        count(b.stray) AS neighbours, coalesce(corr(a.stray, b.stray), 0) AS alike,
        coalesce(corr(a.direct - a.other_direct, b.direct - b.other_direct), 0) AS alike_usd
    FROM strayed AS a
    LEFT JOIN strayed AS b
        ON b.period = a.period AND b.slice = a.slice AND b.workload = a.workload AND b.name = a.name
            AND b.window_start = a.window_start + to_seconds(a.window_s)
    GROUP BY a.period, a.slice, a.workload, a.name
),
-- wider where neighbouring windows fare alike beyond chance (one case of 20); Student's t by Gaver and Kafadar (1984)
widened AS (
    SELECT
        * EXCLUDE (error, error_usd),
        error * sqrt(CASE WHEN alike * sqrt(neighbours) > 1.645 THEN 1 + 2 * alike ELSE 1 END) AS error,
        error_usd * sqrt(CASE WHEN alike_usd * sqrt(neighbours) > 1.645 THEN 1 + 2 * alike_usd ELSE 1 END) AS error_usd,
        sqrt((windows - 1) * (exp(1.959963984540054 ** 2 * (windows - 2.5) / (windows - 2) ** 2) - 1)) AS t
    FROM varied
),
pairs AS (
    SELECT
        a.period, a.workload, replace(a.slice, 'workload_', '') AS divided_by, a.name, b.name AS beside, v.windows,
        a.offered, b.offered AS other_offered, a.accepted, b.accepted AS other_accepted, a.ratio, b.ratio AS other_ratio,
        a.price_usd, b.price_usd AS other_price_usd,
        a.ratio - b.ratio AS gap, v.error, v.t * v.error AS gap_half,
        a.price_usd - b.price_usd AS gap_usd, v.error_usd, v.t * v.error_usd AS gap_usd_half,
        s.busy_gap, s.quiet_gap,
        -- the same t the other way round: the normal deviate z / sqrt(2) of each difference
        list_transform([gap / v.error, gap_usd / nullif(v.error_usd, 0)],
            lambda t: (v.windows - 2) * sqrt(ln(1 + t ** 2 / (v.windows - 1)) / (v.windows - 2.5) / 2)) AS deviates
    FROM whole AS a
    JOIN largest AS b ON b.period = a.period AND b.slice = a.slice AND b.workload = a.workload AND b.name <> a.name
    JOIN summed AS s ON s.period = a.period AND s.slice = a.slice AND s.workload = a.workload AND s.name = a.name
    JOIN widened AS v ON v.period = a.period AND v.slice = a.slice AND v.workload = a.workload AND v.name = a.name
    -- of what was served at other times nothing is said here
    WHERE v.error > 0 AND 10 * s.offered >= 9 * a.offered AND 10 * s.other_offered >= 9 * b.offered
),
-- the complementary error function, to 1.5e-7 (Abramowitz and Stegun 7.1.26)
tails AS (
    SELECT
        * EXCLUDE (deviates),
        list_transform(deviates, lambda x: exp(-(x ** 2)) * list_reduce(
            [1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592, 0], lambda sum, next: sum / (1 + 0.3275911 * x) + next)) AS ps
    FROM pairs
)
SELECT * EXCLUDE (ps), ps[1] AS p, ps[2] AS p_usd
FROM tails
ORDER BY ALL
