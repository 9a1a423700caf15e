-- description: Cost of each route and pool in each base window, workload by workload, and what labels show of the requests that bear it
-- grain: slice, name, window_start, workload
-- reads: goodput, workload_rules
-- unit: is_paid, is_known: all that the window's workloads cost is, and how many of their requests were accepted can be estimated
SELECT
    substr(slice, len('workload_') + 1) AS slice, coalesce(pool, route) AS name, window_start, g.workload,
    if_all_priced(g.cost_usd, g.unpriced) AS cost_usd, g.need_label AS need, g.labelled, g.accepted AS passed,
    coalesce(w.unlabelled = 'estimate' AND w.sampling <> 'none', true) AS is_sample, coalesce(w.unlabelled = 'fail', false) AS must_pass,
    if_all_priced(g.cost_usd, g.unpriced) IS NOT NULL AS has_cost, g.goodput_rps IS NOT NULL AS has_estimate,
    -- what one of its workloads lacks the window lacks
    bool_and(has_cost) OVER of_window AS is_paid, is_paid AND bool_and(has_estimate) OVER of_window AS is_known
FROM goodput AS g
LEFT JOIN (SELECT workload, unlabelled, sampling FROM workload_rules) AS w USING (workload)
WHERE slice IN ('workload_route', 'workload_pool') AND window_s = (SELECT min(window_s) FROM goodput)
WINDOW of_window AS (PARTITION BY g.slice, g.pool, g.route, g.window_start)
