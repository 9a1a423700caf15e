-- description: Gates that are set and were measured for no successful request of the last 7 measured days, with what could measure them
-- grain: subject
-- reads: attempts, gate_failures, recent_windows, workload_rules, workloads
WITH served AS (
    SELECT
        workload, sum(succeeded) AS succeeded, sum(tpot_na) AS tpot_na,
        min(window_start) AS from_at, max(window_start) AS until_at
    FROM recent_windows
    WHERE slice = 'workload'
    GROUP BY workload
),
measured AS (
    SELECT f.workload, f.gate, sum(f.gated) AS gated
    FROM gate_failures AS f
    JOIN recent_windows AS w USING (window_start, window_s, slice, workload)
    WHERE f.slice = 'workload'
    GROUP BY f.workload, f.gate
),
emitters AS (
    SELECT some_of(list(DISTINCT dialect ORDER BY dialect)) AS names FROM attempts HAVING count(*) > 0
),
silent AS (
    SELECT s.*, g.gate, r.unlabelled
    FROM workloads AS g
    JOIN served AS s USING (workload)
    JOIN workload_rules AS r USING (workload)
    LEFT JOIN measured AS m ON m.workload = g.workload AND m.gate = g.gate
    WHERE g.gate IS NOT NULL
        AND s.succeeded - CASE WHEN g.gate = 'tpot' THEN s.tpot_na ELSE 0 END > 0
        AND coalesce(m.gated, 0) = 0
)
SELECT
    'high' AS severity,
    format('{}: {}', workload, gate) AS subject,
    format('Gate {} of workload {} was measured for none of {:,} successful request(s), {}. {}{}',
        gate, workload, succeeded::BIGINT,
        CASE
            WHEN gate <> 'quality' THEN 'which are unevaluable'
            WHEN unlabelled = 'fail' THEN 'none of which counts as accepted'
            ELSE 'whose goodput is therefore an upper bound: those that pass all else count in it'
        END,
        CASE
            WHEN gate IN ('itl_p95', 'jitter') THEN format('No dialect reads it for a single request; a declared source that maps '
                || '`{}_s` does, such as the log of a load generator. Remove the gate, or add such a source', gate)
            WHEN gate = 'ttft' THEN 'Engine spans, and gateways and callers that record streams, have a first token: '
                || 'docs/telemetry.md lists which'
            WHEN gate = 'tpot' THEN 'It needs a first token and output tokens: docs/telemetry.md lists which emitters have both'
            WHEN gate = 'quality' THEN 'Deliver labels of these requests, or remove the gate'
            ELSE 'It needs the end of the record that delivered'
        END,
        CASE WHEN gate IN ('ttft', 'tpot') THEN coalesce('; seen were ' || e.names, '') ELSE '' END) AS message,
    succeeded AS affected,
    succeeded AS total,
    from_at AS first_seen_at,
    until_at AS last_seen_at
FROM silent
LEFT JOIN emitters AS e ON true
