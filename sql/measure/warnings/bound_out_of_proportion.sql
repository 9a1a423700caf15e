-- description: Bounds on latency that are more than 20 times what was measured in the last 7 measured days, or less than a twentieth
-- grain: subject
-- reads: gate_failures, recent_windows, workloads
WITH measured AS (
    SELECT
        workload, gate, sum(n) AS requests, min(p50) AS least_p50, max(p99) AS largest_p99,
        min(window_start) AS from_at, max(window_start) AS until_at
    FROM (
        SELECT window_start, workload, unnest([
            {gate: 'ttft', n: n_ttft, p50: p50_ttft_s, p99: p99_ttft_s},
            {gate: 'tpot', n: n_tpot, p50: p50_tpot_s, p99: p99_tpot_s},
            {gate: 'e2e', n: n_e2e, p50: p50_e2e_s, p99: p99_e2e_s}
        ], max_depth := 2)
        FROM recent_windows
        WHERE slice = 'workload'
    )
    WHERE n > 0
    GROUP BY workload, gate
),
failed AS (
    SELECT f.workload, f.gate, sum(f.failing) AS failing, sum(f.gated) AS gated
    FROM gate_failures AS f
    JOIN recent_windows AS w USING (window_start, window_s, slice, workload)
    WHERE f.slice = 'workload'
    GROUP BY f.workload, f.gate
),
compared AS (
    SELECT m.*, g.bound, f.failing, f.gated, g.bound > 20 * m.largest_p99 AS is_loose
    FROM measured AS m
    JOIN workloads AS g USING (workload, gate)
    JOIN failed AS f USING (workload, gate)
    -- a quantile of few requests shows no proportion
    WHERE m.requests >= 20 AND (g.bound > 20 * m.largest_p99 OR 20 * g.bound < m.least_p50 AND f.failing = f.gated)
)
SELECT
    CASE WHEN is_loose THEN 'medium' ELSE 'high' END AS severity,
    format('{}: {}', workload, gate) AS subject,
    CASE WHEN is_loose
        THEN format('Gate {} of workload {} lets everything pass: its bound of {:g} s is {:.0f} times the p99 of {:.3g} s that {:,} '
            || 'request(s) had. Check the bound, and the unit of the column that was mapped', gate, workload, bound,
            bound / largest_p99, largest_p99, requests::BIGINT)
        ELSE format('Gate {} of workload {} fails all of {:,} request(s): half of them took {:.3g} s or more, {:.0f} times its '
            || 'bound of {:g} s. Check the bound (in seconds), and the unit of the column that was mapped', gate, workload,
            gated::BIGINT, least_p50, least_p50 / bound, bound)
    END AS message,
    CASE WHEN is_loose THEN requests ELSE failing END AS affected,
    requests AS total,
    from_at AS first_seen_at,
    until_at AS last_seen_at
FROM compared
