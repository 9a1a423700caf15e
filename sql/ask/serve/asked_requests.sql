-- description: Requests that ended in a period and are what a reader asks for, by the names that windows of `goodput` give them
-- grain: request_key, delivering_attempt_id
-- reads: request_filter, requests
-- kind: view
SELECT r.*
FROM requests AS r
JOIN request_filter AS f
    ON r.ended_at >= f.from_at AND r.ended_at < f.until_at
    AND (f.workload IS NULL OR r.workload = f.workload)
    AND (f.model IS NULL OR coalesce(r.model, 'unknown') = f.model)
    AND (f.pool IS NULL OR coalesce(r.pool, 'unknown') = f.pool)
    AND (f.route IS NULL OR coalesce(r.route, 'unknown') = f.route)
    AND (f.cut_path IS NULL OR cut_values([f.cut_path], r.tenant, r.attributes)[1] = f.slice_value)
    AND (f.verdict IS NULL OR r.verdict = f.verdict)
    AND (f.gate IS NULL OR CASE f.gate
        WHEN 'success' THEN NOT r.pass_success
        WHEN 'retries' THEN NOT r.pass_retries
        WHEN 'ttft' THEN NOT r.pass_ttft
        WHEN 'tpot' THEN NOT r.pass_tpot
        WHEN 'e2e' THEN NOT r.pass_e2e
        WHEN 'itl_p95' THEN NOT r.pass_itl_p95
        WHEN 'jitter' THEN NOT r.pass_jitter
        WHEN 'deadline' THEN NOT r.pass_deadline
        WHEN 'quality' THEN NOT r.pass_quality
    END)
-- a request in flight is in no window yet
WHERE r.verdict <> 'in_flight'
