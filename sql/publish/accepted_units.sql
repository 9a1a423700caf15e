-- description: Accepted units of each workload under its own name for them (resolutions, tasks, items ...), per hour, and the cost of one (docs/semantics.md#sessions)
-- grain: window_start, window_s, workload
-- reads: goodput, workloads
-- kind: view
SELECT
    g.window_start, g.window_s, g.workload,
    coalesce(w.unit, 'request') AS unit,
    coalesce(w.unit_label, 'request') AS unit_label,
    g.offered, g.accepted,
    g.goodput_rps * 3600 AS accepted_per_hour,
    g.goodput_ci_low_rps * 3600 AS accepted_per_hour_ci_low,
    g.goodput_ci_high_rps * 3600 AS accepted_per_hour_ci_high,
    g.goodput_ratio, g.goodput_ratio_ci_low, g.goodput_ratio_ci_high,
    g.definition,
    g.cost_usd, g.unpriced, g.direct_cost_usd, g.cost_per_accepted_usd, g.cost_per_accepted_ci_low_usd, g.cost_per_accepted_ci_high_usd,
    g.no_cost_interval,
    g.partial
FROM goodput AS g
LEFT JOIN (SELECT DISTINCT workload, unit, unit_label FROM workloads) AS w USING (workload)
WHERE g.slice = 'workload'
