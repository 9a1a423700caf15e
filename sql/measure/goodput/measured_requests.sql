-- description: The columns of requests that `goodput` needs, once for all slices; dimensions as enum codes, times in Unix seconds
-- grain: request_key; sessions beside them where a workload counts those
-- reads: coverage, measured_sessions, requests, slice_cuts, unobserved_requests, workload_rules
-- A row without a verdict is not counted, only timed: a request of a workload that counts sessions.
SELECT
    workload::workload_code AS workload,
    coalesce(model, 'unknown')::model_code AS model,
    coalesce(pool, 'unknown')::pool_code AS pool,
    coalesce(route, 'unknown')::route_code AS route,
    cut_values((SELECT list(path ORDER BY cut) FROM slice_cuts), tenant, attributes) AS cut_values,
    r.* EXCLUDE (workload, model, pool, route, tenant, attributes, counted) REPLACE (
        CASE WHEN counted THEN pass_success END AS pass_success,
        CASE WHEN counted THEN pass_quality END AS pass_quality
    )
FROM (
    SELECT
        workload, model, pool, route, tenant, attributes, counted,
        CASE WHEN counted THEN verdict END AS verdict,
        CASE WHEN counted THEN sole_failing_gate END AS sole_failing_gate,
        CASE WHEN counted THEN late_by END AS late_by,
        epoch_us(arrived_at) // 1000000 AS arrived_s,
        -- a request in flight has arrived but is in no window yet
        CASE WHEN verdict <> 'in_flight' THEN epoch_us(ended_at) // 1000000 END AS ended_s,
        CASE WHEN counted THEN output_tokens END AS output_tokens,
        counted AND retry_count > 0 AS retried,
        counted AND needs_label AS needs_label,
        -- the hash of NULL is a number like any other
        CASE WHEN counted AND needs_label AND session_id IS NOT NULL THEN text_hash(session_id) END AS session_hash,
        tpot_na,
        COLUMNS('^pass_'),
        -- percentiles are over succeeded requests; NULLs are left out of them
        CASE WHEN pass_success THEN ttft_s END AS ttft_s,
        CASE WHEN pass_success THEN tpot_s END AS tpot_s,
        CASE WHEN pass_success THEN e2e_s END AS e2e_s,
        CASE WHEN pass_success THEN queue_s END AS queue_s,
        -- of the replica's hour, in millionths: integers add up to the same sum in any order
        CASE WHEN verdict <> 'in_flight' THEN round(1e6 * coverage_ratio)::BIGINT END AS coverage_ppm,
        CASE WHEN counted AND verdict <> 'in_flight' THEN round(1e6 * unobserved)::BIGINT END AS unobserved_ppm
    FROM (
        SELECT q.*, c.coverage_ratio, u.unobserved, w.workload IS NULL AS counted
        FROM requests AS q
        LEFT JOIN unobserved_requests AS u
            ON u.pool = coalesce(q.pool, 'unknown') AND u.epoch_hour = epoch_us(q.ended_at) // 3600000000
        LEFT JOIN coverage AS c
            ON c.replica = q.replica AND c.window_start = make_timestamptz(epoch_us(q.ended_at) // 3600000000 * 3600000000)
        LEFT JOIN workload_rules AS w ON w.workload = q.workload AND w.unit = 'session'
    )
    UNION ALL BY NAME
    SELECT *, true AS counted FROM measured_sessions
) AS r
