-- description: `step_costs` added up to the windows that are asked for, before idle time and overhead are carried
-- grain: window_s, start_s, workload, model, pool, route, tenant, bucket
-- reads: grains, step_costs
SELECT
    window_s, step_s // window_s * window_s AS start_s, workload, model, pool, route, tenant, bucket,
    sum(usd) AS usd, sum(gpu_s) AS gpu_s, sum(tokens) AS tokens, sum(unpriced)::BIGINT AS unpriced, bool_or(estimated) AS estimated,
    bool_and(is_bounded) AS is_bounded, sum(variance) AS variance, sum(common_usd) AS common_usd
FROM step_costs
CROSS JOIN grains
GROUP BY ALL
