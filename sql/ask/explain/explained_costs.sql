-- description: What was spent on request `key`, by attempt, bucket and what it was paid for
-- grain: attempt_id, bucket, pool, replica, model, basis
-- reads: cost_ledger
-- unit: error_usd is NULL where that of some of it is not known
SELECT
    attempt_id, bucket, pool, replica, model, basis,
    min(window_start) AS from_at,
    max(window_start + to_seconds(window_s)) AS until_at,
    sum(usd) AS usd,
    CASE WHEN count(*) = count(error_usd) THEN sum(error_usd) END AS error_usd,
    bool_or(estimated) AS estimated,
    sum(gpu_s) AS gpu_s,
    sum(tokens) AS tokens
FROM cost_ledger
WHERE request_key = $key
GROUP BY attempt_id, bucket, pool, replica, model, basis
ORDER BY from_at, attempt_id, bucket, basis
