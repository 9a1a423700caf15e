-- description: One page of the requests that a reader asks for, the latest first, beginning after the last one of the page before
-- grain: request_key, delivering_attempt_id
-- reads: asked_requests, request_page
SELECT
    ended_at, request_key, verdict, workload, model, pool, route, replica,
    ttft_s, tpot_s, e2e_s, retry_count, output_tokens, cost_usd, delivering_attempt_id
FROM asked_requests AS r
JOIN request_page AS p
    ON p.after_at IS NULL OR (r.ended_at, r.delivering_attempt_id) < (p.after_at, p.after_id)
ORDER BY r.ended_at DESC, r.delivering_attempt_id DESC
LIMIT (SELECT max_rows FROM request_page)
