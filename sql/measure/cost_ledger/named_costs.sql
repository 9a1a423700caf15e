-- description: What cost records that name a request or a session come to for each request found, and what found none (docs/semantics.md#bills)
-- grain: dialect, cost_id, step_s, request_key
-- reads: cost_pieces, requests
-- A session's is shared equally by its requests; where nothing is found, request_key is NULL and the record's own scope remains.
WITH named AS (
    SELECT * FROM cost_pieces WHERE level = 'request' AND coalesce(request_key, session_id) IS NOT NULL
),
looked_for AS (
    SELECT DISTINCT dialect, cost_id, request_key, session_id, found_from_ns, found_until_ns FROM named
),
found AS (
    SELECT
        n.dialect, n.cost_id, q.request_key, q.delivering_attempt_id, q.pool, q.model, q.workload, q.route, q.tenant,
        CASE WHEN q.outcome = 'cancelled' THEN 'abandoned' ELSE q.verdict END AS bucket, q.late_by,
        1 / count(*) OVER (PARTITION BY n.dialect, n.cost_id) AS part
    FROM requests AS q
    JOIN looked_for AS n
        ON CASE WHEN n.request_key IS NOT NULL THEN n.request_key = q.request_key ELSE n.session_id = q.session_id END
        AND epoch_us(q.ended_at) * 1000 >= n.found_from_ns AND epoch_us(q.ended_at) * 1000 < n.found_until_ns
    WHERE q.verdict <> 'in_flight'
)
SELECT
    n.dialect, n.cost_id, n.step_s, n.basis, f.request_key, f.delivering_attempt_id AS attempt_id,
    coalesce(f.bucket, 'unattributed') AS bucket, f.late_by,
    CASE WHEN f.request_key IS NULL THEN n.pool ELSE f.pool END AS pool,
    CASE WHEN f.request_key IS NULL THEN n.replica END AS replica,
    CASE WHEN f.request_key IS NULL THEN n.model ELSE f.model END AS model,
    CASE WHEN f.request_key IS NULL THEN n.workload ELSE f.workload END AS workload,
    CASE WHEN f.request_key IS NULL THEN n.route ELSE f.route END AS route,
    CASE WHEN f.request_key IS NULL THEN n.tenant ELSE f.tenant END AS tenant,
    n.usd * coalesce(f.part, 1) AS usd
FROM named AS n
LEFT JOIN found AS f USING (dialect, cost_id)
