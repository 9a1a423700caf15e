-- description: Requests of the latest window that a missing measurement keeps from being judged, by workload, with the gates that lack it
-- grain: subject
-- reads: gate_failures, recent_windows, workloads
WITH of_workload AS (
    SELECT * FROM recent_windows WHERE is_latest AND slice = 'workload' AND unevaluable > 0
),
missing AS (
    SELECT
        w.workload, g.gate,
        w.succeeded - coalesce(f.gated, 0) - CASE WHEN g.gate = 'tpot' THEN w.tpot_na ELSE 0 END AS requests
    FROM of_workload AS w
    JOIN workloads AS g ON g.workload = w.workload AND g.gate NOT IN ('retries', 'quality')
    LEFT JOIN gate_failures AS f
        ON f.window_start = w.window_start AND f.window_s = w.window_s AND f.slice = 'workload'
        AND f.workload = w.workload AND f.gate = g.gate
)
SELECT
    CASE WHEN w.unevaluable >= 0.05 * w.offered THEN 'high' ELSE 'low' END AS severity,
    w.workload AS subject,
    format('{:,} of {:,} request(s) of workload {} lack a measurement that a gate needs{}, and are not accepted. '
            || 'docs/telemetry.md lists what each emitter reports; `on_missing` can let them pass',
        w.unevaluable, w.offered, w.workload,
        coalesce(' (' || (SELECT string_agg(format('{}: {:,}', m.gate, m.requests), ', ' ORDER BY m.requests DESC, m.gate)
            FROM missing AS m WHERE m.workload = w.workload AND m.requests > 0) || ')', '')) AS message,
    w.unevaluable AS affected,
    w.offered AS total,
    w.window_start AS first_seen_at,
    w.window_start AS last_seen_at
FROM of_workload AS w
