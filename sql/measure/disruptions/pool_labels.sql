-- description: Requests of each pool, and of the fleet as a whole, that need a label in each base window, those that have one, and those that passed
-- grain: pool (NULL: the fleet), start_s, workload
-- reads: disruption_options, goodput, workload_rules
SELECT
    g.pool, epoch_us(g.window_start) // 1000000 AS start_s, g.workload,
    g.need_label AS need, g.labelled, g.accepted AS passed,
    w.unlabelled = 'estimate' AND w.sampling <> 'none' AS is_sample,
    w.unlabelled = 'fail' AS must_pass
FROM goodput AS g
JOIN disruption_options AS o ON g.window_s = o.base_s
JOIN workload_rules AS w ON w.workload = g.workload AND w.has_quality
WHERE g.slice IN ('workload', 'workload_pool') AND g.need_label > 0
