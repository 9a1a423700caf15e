-- description: What became of requests at each load that replicas of a pool bore, over the last 7 days: what is accepted, and what fails the gate that judges the knee
-- grain: slice, pool, route, load_rps
-- reads: frontier, gate_failures, goodput, replica_windows, waste
-- unit: replica_hour_usd: what an hour of a replica of the pool cost in these days, by its longest windows that have a price
-- unit: prefill_late_ratio: of the answers that have a gate on the first token, those whose prompt alone took longer than it allows, at any load; is_failed_by_prompts: these alone are more than may fail, whatever the replicas
-- unit: requests per second and replica; most_replicas: of the pool at one time in these days
WITH at_once AS (
    SELECT pool, count(DISTINCT replica) AS replicas
    FROM replica_windows
    WHERE window_s = (SELECT min(window_s) FROM replica_windows) AND up_s > 0
        AND window_start > (SELECT max(window_start) FROM replica_windows) - INTERVAL 7 DAY
    GROUP BY pool, window_start
),
spent AS (
    SELECT pool, window_start, window_s, sum(usd) AS usd
    FROM waste
    WHERE slice = 'pool' AND bucket NOT IN ('overhead', 'unattributed') AND window_s = (SELECT max(window_s) FROM waste)
        AND window_start > (SELECT max(window_start) FROM replica_windows) - INTERVAL 7 DAY
    GROUP BY pool, window_start, window_s
),
lived AS (
    SELECT pool, window_start, window_s, sum(up_s) / 3600 AS hours FROM replica_windows WHERE pool IS NOT NULL GROUP BY ALL
),
hourly AS (
    SELECT s.pool, sum(s.usd) / nullif(sum(l.hours), 0) AS usd
    FROM spent AS s
    JOIN lived AS l USING (pool, window_start, window_s)
    WHERE s.usd > 0
    GROUP BY s.pool
),
longest AS (SELECT max(window_s) AS window_s, max(window_start) AS window_start FROM goodput WHERE window_s = (SELECT max(window_s) FROM goodput)),
late AS (
    SELECT g.pool, g.route, sum(g.prefill_late) AS prefill_late, sum(f.gated) AS gated
    FROM goodput AS g
    JOIN longest AS l ON l.window_s = g.window_s AND g.window_start > l.window_start - INTERVAL 7 DAY
    JOIN gate_failures AS f
        ON f.window_s = g.window_s AND f.window_start = g.window_start AND f.slice = 'finest' AND f.gate = 'ttft'
            AND f.workload = g.workload AND f.model = g.model AND f.pool = g.pool AND f.route = g.route
    WHERE g.slice = 'finest'
    GROUP BY g.pool, g.route
),
found AS (
    SELECT
        slice AS divided_by, pool, route, concat_ws(' ', pool, CASE WHEN slice = 'route' THEN route END) AS name,
        load_rps, goodput_ratio AS ratio, goodput_ratio_ci_low AS low, goodput_ratio_ci_high AS high,
        windows, arrivals, is_sustained, knee_gate, knee_bound_ratio AS bound, fail_ratio, pooled_fail_ratio AS pooled, knee_rps, knee_ci_low_rps, knee_ci_high_rps, knee_censored, peak_rps,
        headroom, recommended_replicas, no_recommendation, (SELECT max(replicas) FROM at_once AS o WHERE o.pool = frontier.pool) AS most_replicas,
        (SELECT h.usd FROM hourly AS h WHERE h.pool = frontier.pool) AS replica_hour_usd,
        (SELECT sum(late.prefill_late) / nullif(sum(late.gated), 0) FROM late WHERE late.pool = frontier.pool AND (frontier.slice <> 'route' OR late.route = frontier.route)) AS prefill_late_ratio
    FROM frontier
    WHERE load_rps IS NOT NULL
)
SELECT *, coalesce(knee_gate = 'ttft' AND prefill_late_ratio > bound, false) AS is_failed_by_prompts
FROM found
ORDER BY ALL
