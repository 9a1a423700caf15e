-- description: The gate of each window and slice whose removal alone would accept the most requests, and the shares that fail
-- grain: window_start, window_s, slice, slice_value, workload, model, pool, route
-- reads: gate_failures, gates
SELECT
    window_start, window_s, slice, slice_value, workload, model, pool, route,
    -- among gates that alone reject as many requests, the first in the order of verdicts
    arg_max(gate, (only_failing, -ordinal)) FILTER (WHERE only_failing > 0) AS binding_gate,
    max(only_failing) AS binding_gate_requests,
    any_value(fail_ratio) FILTER (WHERE gate = 'ttft') AS ttft_fail_ratio,
    any_value(fail_ratio) FILTER (WHERE gate = 'tpot') AS tpot_fail_ratio,
    any_value(fail_ratio) FILTER (WHERE gate = 'e2e') AS e2e_fail_ratio
FROM gate_failures
JOIN gates USING (gate)
GROUP BY ALL
