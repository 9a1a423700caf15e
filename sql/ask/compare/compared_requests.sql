-- description: The requests of the two sides that `goodput compare` sets against each other, with what it needs of them
-- grain: request
-- reads: goodput, side_rows
SELECT
    side,
    coalesce(workload, 'unknown') AS workload,
    request_key,
    session_id,
    epoch_us(ended_at) // 1000000 // base_s * base_s AS start_s,
    base_s,
    pass_success,
    verdict = 'accepted' AS is_accepted,
    needs_label,
    CASE WHEN needs_label THEN pass_quality END AS passed,
    CASE WHEN pass_success THEN ttft_s END AS ttft_s,
    CASE WHEN pass_success THEN tpot_s END AS tpot_s,
    CASE WHEN pass_success THEN e2e_s END AS e2e_s,
    input_tokens,
    output_tokens,
    cost_usd
FROM side_rows
CROSS JOIN (SELECT min(window_s) AS base_s FROM goodput)
WHERE verdict <> 'in_flight' AND side IS NOT NULL
