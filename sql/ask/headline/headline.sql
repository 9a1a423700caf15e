-- description: The latest published day (else the longest window) at a glance: overall and per workload and route
-- grain: slice
-- reads: goodput, latest_window, waste, workloads
-- unit: what is counted, where that is not requests alone; goodput in % of offered units with its 95 % interval; the verdicts, from failed to accepted, in units, which add up to offered; per_accepted in USD, loaded, at least where a part of the work has no price, and why it is not known where other cost is
WITH units AS (
    SELECT DISTINCT workload, unit_label, bool_or(unit_label <> 'request') OVER () AS differ FROM workloads
)
SELECT
    coalesce(short_name(g.workload || ' ' || g.route), 'all') AS slice,
    CASE WHEN u.differ THEN u.unit_label END AS unit,
    g.offered,
    -- equal values print alike: half of a tenth, which a hair of either side would decide, is rounded up
    format('{:.1f} % ({:.1f}..{:.1f})',
        round(round(100 * g.goodput_ratio, 9), 1),
        round(round(100 * g.goodput_ci_low_rps * g.window_s / g.offered, 9), 1),
        round(round(100 * g.goodput_ci_high_rps * g.window_s / g.offered, 9), 1)) AS goodput,
    g.definition,
    g.failed,
    nullif(g.ungated, 0) AS ungated,
    g.over_budget AS retries,
    g.slow,
    g.rejected,
    nullif(g.unevaluable, 0) AS unevaluable,
    nullif(g.unlabelled, 0) AS unlabelled,
    g.accepted,
    g.binding_gate AS binding,
    CASE
        WHEN g.cost_per_accepted_usd IS NOT NULL
            THEN CASE WHEN g.unpriced > 0 THEN 'at least ' ELSE '' END || dollars(g.cost_per_accepted_usd, least_digits := 4)
        WHEN NOT EXISTS (FROM waste WHERE usd <> 0) THEN NULL
        WHEN g.cost_usd IS NULL THEN 'no bill or price'
        WHEN g.goodput_rps IS NULL THEN 'bounds alone'
        ELSE 'none accepted'
    END AS per_accepted
FROM goodput AS g
JOIN latest_window USING (window_s, window_start)
LEFT JOIN units AS u ON u.workload = g.workload
WHERE g.slice IN ('overall', 'workload_route') AND g.offered > 0
ORDER BY g.workload NULLS LAST, g.route NULLS LAST
