-- description: What became of the requests of each window and slice that leaves the lake; the verdicts of one add up to what it was offered
-- grain: window_start, window_s, slice, workload, model, pool, route, verdict
-- reads: exported_slices, exported_windows, goodput
UNPIVOT (
    SELECT
        g.window_start, g.window_s, g.slice, g.workload, g.model, g.pool, g.route,
        g.failed, g.ungated, g.over_budget, g.slow, g.rejected, g.unevaluable, g.unlabelled, g.accepted
    FROM goodput AS g
    JOIN exported_windows USING (window_start, window_s)
    JOIN exported_slices USING (slice)
)
ON failed, ungated, over_budget, slow, rejected, unevaluable, unlabelled, accepted
INTO NAME verdict VALUE requests
