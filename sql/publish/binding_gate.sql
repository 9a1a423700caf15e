-- description: For each window and slice, the gate whose removal alone would accept the most requests, and how often it fails (docs/semantics.md#binding-gate)
-- grain: window_start, window_s, slice, slice_value, workload, model, pool, route
-- reads: gate_failures, goodput
-- kind: view
SELECT
    g.window_start, g.window_s, g.slice, g.slice_value, g.workload, g.model, g.pool, g.route,
    g.binding_gate AS gate,
    g.binding_gate_requests AS would_accept,
    f.failing, f.gated, f.fail_ratio,
    g.offered, g.accepted
FROM goodput AS g
JOIN gate_failures AS f
    ON f.window_start = g.window_start AND f.window_s = g.window_s AND f.slice = g.slice AND f.gate = g.binding_gate
    AND f.slice_value IS NOT DISTINCT FROM g.slice_value
    AND f.workload IS NOT DISTINCT FROM g.workload AND f.model IS NOT DISTINCT FROM g.model
    AND f.pool IS NOT DISTINCT FROM g.pool AND f.route IS NOT DISTINCT FROM g.route
