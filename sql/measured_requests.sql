-- description: Requests with what `goodput` needs of them, once for all slices; words as codes, times in Unix seconds
-- grain: request_key
SELECT
    workload::workload_word AS workload,
    coalesce(q.model, 'unknown')::model_word AS model,
    coalesce(q.pool, 'unknown')::pool_word AS pool,
    coalesce(route, 'unknown')::route_word AS route,
    verdict,
    sole_failing_gate,
    epoch_us(arrived_at) // 1000000 AS arrived_s,
    -- a request in flight has arrived but is in no window yet
    CASE WHEN verdict <> 'in_flight' THEN epoch_us(ended_at) // 1000000 END AS ended_s,
    output_tokens, retry_count > 0 AS retried, needs_label, tpot_na,
    pass_success, pass_ttft, pass_tpot, pass_e2e, pass_quality,
    -- percentiles are over succeeded requests; NULLs are left out of them
    CASE WHEN pass_success THEN ttft_s END AS ttft_s,
    CASE WHEN pass_success THEN tpot_s END AS tpot_s,
    CASE WHEN pass_success THEN e2e_s END AS e2e_s,
    CASE WHEN pass_success THEN queue_s END AS queue_s,
    -- of the replica's hour, in millionths: whole numbers add up to the same sum in every order
    CASE WHEN verdict <> 'in_flight' THEN round(1e6 * c.coverage_ratio)::BIGINT END AS coverage_ppm
FROM requests AS q
LEFT JOIN coverage AS c
    ON c.replica = q.replica AND c.window_start = make_timestamptz(epoch_us(q.ended_at) // 3600000000 * 3600000000)
