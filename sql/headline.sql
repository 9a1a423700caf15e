-- description: The latest published day (else the longest window) at a glance: overall and per workload and route
-- grain: workload, route
WITH latest AS (
    SELECT window_s, max(window_start) AS window_start
    FROM goodput
    WHERE window_s = (SELECT max(window_s) FROM goodput)
    GROUP BY window_s
)
SELECT
    strftime(g.window_start, '%Y-%m-%d %H:%M') AS "from (UTC)",
    coalesce(g.workload, 'all') AS workload,
    coalesce(g.route, 'all') AS route,
    g.offered,
    round(100 * g.goodput_ratio, 1) AS "goodput %",
    format('{:.1f}..{:.1f}',
        100 * g.goodput_ci_low_rps * g.window_s / g.offered,
        100 * g.goodput_ci_high_rps * g.window_s / g.offered) AS "95 % interval",
    g.definition,
    g.failed, g.over_budget, g.slow, g.rejected, g.unlabelled,
    round(g.p99_ttft_s, 2) AS "p99 ttft s",
    g.binding_gate
FROM goodput AS g
JOIN latest USING (window_s, window_start)
WHERE g.slice IN ('overall', 'workload_route') AND g.offered > 0
ORDER BY g.workload NULLS LAST, g.route NULLS LAST
