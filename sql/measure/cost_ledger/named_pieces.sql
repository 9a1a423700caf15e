-- description: Pieces of attempts that are billed by their model, of requests that bills name too: both may be for the same
-- grain: attempt_id, step_s
-- reads: charged_pieces, named_costs
SELECT
    attempt_id, request_key, step_s, bucket, late_by, pool, replica, model, workload, route, tenant, basis,
    usd, gpu_s, tokens, estimated, abs(usd) * error_ratio AS error_usd, abs(usd) * common_ratio AS common_error_usd
FROM charged_pieces
WHERE replica IS NULL AND basis NOT IN ('token_price', 'reported')
    AND attempt_id IN (SELECT attempt_id FROM named_costs WHERE attempt_id IS NOT NULL)
