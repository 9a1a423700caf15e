-- description: `step_costs` added up to the windows that are asked for, before idle time and overhead are carried
-- grain: window_s, start_s, cut, slice_value, workload, model, pool, route, tenant, bucket
-- reads: crowded_windows, grains, kept_values, step_costs
SELECT
    g.window_s, step_s // g.window_s * g.window_s AS start_s,
    s.cut, kept_value(s.slice_value, c.cut IS NOT NULL, k.cut IS NOT NULL) AS slice_value,
    workload, model, pool, route, tenant, bucket,
    sum(usd) AS usd, sum(queue_late_usd) AS queue_late_usd, sum(retries_late_usd) AS retries_late_usd, sum(prefill_late_usd) AS prefill_late_usd, sum(work_late_usd) AS work_late_usd,
    sum(gpu_s) AS gpu_s, sum(tokens) AS tokens, sum(unpriced)::BIGINT AS unpriced, bool_or(estimated) AS estimated,
    bool_and(is_bounded) AS is_bounded, sum(variance) AS variance, sum(common_usd) AS common_usd
FROM step_costs AS s
CROSS JOIN grains AS g
LEFT JOIN crowded_windows AS c
    ON c.cut = s.cut AND c.window_s = g.window_s AND c.start_s = s.step_s // g.window_s * g.window_s
LEFT JOIN kept_values AS k
    ON k.cut = c.cut AND k.window_s = c.window_s AND k.start_s = c.start_s AND k.slice_value = s.slice_value
GROUP BY ALL
