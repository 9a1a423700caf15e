-- description: What each attempt cost in each step and bucket, but for what `named_pieces` has
-- grain: attempt_id, step_s, bucket, pool, replica, model, workload, route, tenant, basis
-- reads: charged_pieces, named_costs
-- kind: view
SELECT
    attempt_id, request_key, step_s, bucket, pool, replica, model, workload, route, tenant,
    usd * (1 - recomputing - speculating) AS usd, gpu_s * (1 - recomputing - speculating) AS gpu_s, tokens, basis, estimated,
    -- credits may exceed what a replica costs
    abs(usd) * (1 - recomputing - speculating) * error_ratio AS error_usd,
    abs(usd) * (1 - recomputing - speculating) * common_ratio AS common_error_usd,
    input_usd, cached_input_usd, output_usd, late_by
FROM charged_pieces
WHERE replica IS NOT NULL OR basis IS NULL OR basis IN ('token_price', 'reported')
UNION ALL
SELECT
    attempt_id, request_key, step_s, 'preemption', pool, replica, model, workload, route, tenant,
    usd * recomputing, gpu_s * recomputing, redone_tokens, basis, recomputing_estimated,
    abs(usd) * recomputing * recomputing_error_ratio, abs(usd) * recomputing * recomputing_common_ratio, NULL, NULL, NULL, NULL
FROM charged_pieces
WHERE redone_tokens > 0
UNION ALL
SELECT
    attempt_id, request_key, step_s, 'speculation', pool, replica, model, workload, route, tenant,
    usd * speculating, gpu_s * speculating, rejected_draft_tokens, basis, speculating_estimated,
    abs(usd) * speculating * speculating_error_ratio, abs(usd) * speculating * speculating_common_ratio, NULL, NULL, NULL, NULL
FROM charged_pieces
WHERE rejected_draft_tokens > 0
UNION ALL
SELECT
    attempt_id, request_key, step_s, bucket, pool, replica, model, workload, route, tenant,
    sum_usd(usd), sum_steady(gpu_s), coalesce(sum_steady(tokens), 0), basis, coalesce(bool_or(estimated), false),
    coalesce(sum_usd(abs(usd) * error_ratio), 0), coalesce(sum_usd(abs(usd) * common_ratio), 0), NULL, NULL, NULL, late_by
FROM charged_pieces
WHERE replica IS NULL AND basis NOT IN ('token_price', 'reported')
    AND attempt_id NOT IN (SELECT attempt_id FROM named_costs WHERE attempt_id IS NOT NULL)
GROUP BY ALL
