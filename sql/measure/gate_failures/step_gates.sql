-- description: How many requests of each step each gate judged, how many failed it, and how many failed it alone
-- grain: step_start_s, cut, slice_value, workload, model, pool, route, gate
-- reads: cut_requests, measured_range, window_options
-- Requests that fared alike at every gate are counted first: a few outcomes stand for all requests, whatever gates there are.
WITH outcomes AS (
    SELECT
        ended_s // step_s * step_s AS step_start_s, cut, slice_value, workload, model, pool, route,
        COLUMNS('^pass_'), sole_failing_gate,
        count(*) AS requests
    FROM cut_requests
    CROSS JOIN measured_range
    CROSS JOIN window_options
    WHERE ended_s >= from_s AND ended_s < until_s
    GROUP BY ALL
),
judged AS (
    SELECT * EXCLUDE (pass_gate), substr(pass_gate, len('pass_') + 1) AS gate
    FROM outcomes
    UNPIVOT INCLUDE NULLS (passed FOR pass_gate IN (COLUMNS('^pass_')))
)
SELECT
    step_start_s, cut, slice_value, workload, model, pool, route, gate,
    sum(CASE WHEN passed IS NOT NULL THEN requests ELSE 0 END)::BIGINT AS gated,
    sum(CASE WHEN NOT passed THEN requests ELSE 0 END)::BIGINT AS failing,
    sum(CASE WHEN sole_failing_gate = gate THEN requests ELSE 0 END)::BIGINT AS only_failing
FROM judged
GROUP BY ALL
-- a gate that is set but was never measured gates no request, and may still be all that keeps one from being accepted
HAVING gated > 0 OR only_failing > 0
