-- description: Every dollar once: by attempt, bucket and window, and the costs of no attempt (docs/semantics.md#money)
-- grain: attempt_id, window_start, bucket, pool, replica, model, workload, route, basis
-- reads: charged_pieces, cost_pieces, ledger_options, model_bills, replica_costs, replica_time, requests, target_hours
-- kind: view
-- unit: windows of the greatest common divisor of the settings' windows, so that each of those is a sum of these
-- identity: M: in every window and pool the rows add up to what its resources cost
-- Idle time is charged to those whom its pool served in the window, in proportion to their GPU time, so that the cost of a
-- workload or route is loaded; where the pool served no one, it is charged to none. Bills for resources unknown to telemetry,
-- for pools without a live replica, for models that were not called, and overhead without a request are unattributed.
WITH overhead AS (
    SELECT pool, model, step_s, sum_usd(usd) AS usd
    FROM cost_pieces
    WHERE level = 'request'
    GROUP BY pool, model, step_s
),
over AS (
    SELECT
        q.delivering_attempt_id, q.request_key, q.pool, q.replica, q.model, q.workload, q.route,
        CASE WHEN q.outcome = 'cancelled' THEN 'abandoned' ELSE q.verdict END AS bucket,
        epoch_us(q.ended_at) * 1000 // o.step_ns * o.step_ns // 1000000000 AS step_s
    FROM requests AS q
    CROSS JOIN ledger_options AS o
    WHERE q.verdict <> 'in_flight' AND epoch_us(q.ended_at) // 3600000000 IN (SELECT epoch_hour FROM target_hours)
        AND EXISTS (FROM overhead)
),
overhead_shared AS (
    SELECT
        q.*, h.usd / count(*) OVER (PARTITION BY h.pool, h.model, h.step_s) AS usd, h.pool AS of_pool, h.model AS of_model
    FROM over AS q
    JOIN overhead AS h ON h.step_s = q.step_s
        AND (h.pool IS NULL OR h.pool = q.pool) AND (h.model IS NULL OR h.model = q.model)
),
idle AS (
    SELECT *, usd * (1 - busy_ratio) AS idle_usd, gpu_s * (1 - busy_ratio) AS idle_gpu_s
    FROM replica_costs
),
carriers AS (
    SELECT
        pool, step_s, workload, model, route,
        sum_steady(gpu_s) AS gpu_s
    FROM charged_pieces
    WHERE gpu_s > 0
    GROUP BY pool, step_s, workload, model, route
),
carried AS (
    SELECT *, gpu_s / sum(gpu_s::DECIMAL(38, 12)) OVER (PARTITION BY pool, step_s)::DOUBLE AS part FROM carriers
),
pools AS (
    SELECT pool, step_s, sum(t.seen_ns) AS seen_ns
    FROM replica_time AS t
    JOIN replica_costs AS c USING (replica, step_s)
    GROUP BY pool, step_s
),
left_over AS (
    SELECT c.pool, c.replica, c.model, c.step_s, c.basis, c.usd, c.gpu_s
    FROM cost_pieces AS c
    LEFT JOIN pools AS p ON p.pool = c.pool AND p.step_s = c.step_s
    LEFT JOIN model_bills AS b ON b.model = c.model AND b.step_s = c.step_s
    WHERE c.level = 'none'
        OR (c.level = 'pool' AND c.is_best AND coalesce(p.seen_ns, 0) = 0)
        OR (c.level = 'model' AND c.is_best AND b.model IS NULL)
),
entries AS (
    SELECT
        attempt_id, request_key, step_s, bucket, pool, replica, model, workload, route,
        usd * (1 - recomputing - speculating) AS usd, gpu_s * (1 - recomputing - speculating) AS gpu_s, tokens, basis, estimated,
        usd * (1 - recomputing - speculating) * error_ratio AS error_usd,
        usd * (1 - recomputing - speculating) * common_ratio AS common_error_usd
    FROM charged_pieces
    UNION ALL
    SELECT
        attempt_id, request_key, step_s, 'preemption', pool, replica, model, workload, route,
        usd * recomputing, gpu_s * recomputing, redone_tokens, basis, recomputing_estimated,
        usd * recomputing * recomputing_error_ratio, usd * recomputing * recomputing_common_ratio
    FROM charged_pieces
    WHERE redone_tokens > 0
    UNION ALL
    SELECT
        attempt_id, request_key, step_s, 'speculation', pool, replica, model, workload, route,
        usd * speculating, gpu_s * speculating, rejected_draft_tokens, basis, speculating_estimated,
        usd * speculating * speculating_error_ratio, usd * speculating * speculating_common_ratio
    FROM charged_pieces
    WHERE rejected_draft_tokens > 0
    UNION ALL
    SELECT
        NULL, NULL, i.step_s, 'idle', i.pool, i.replica, c.model, c.workload, c.route,
        i.idle_usd * coalesce(c.part, 1), i.idle_gpu_s * coalesce(c.part, 1), 0, i.basis, NOT i.sampled,
        CASE WHEN i.sampled THEN i.idle_usd * 0 END, CASE WHEN i.sampled THEN i.idle_usd * 0 END
    FROM idle AS i
    LEFT JOIN carried AS c ON c.pool IS NOT DISTINCT FROM i.pool AND c.step_s = i.step_s
    -- whether a replica without samples and cost was idle, and whose it is, is unknown
    WHERE (i.usd IS NOT NULL OR i.sampled) AND (i.idle_gpu_s > 0 OR i.idle_usd <> 0)
    UNION ALL
    SELECT
        delivering_attempt_id, any_value(request_key), step_s, any_value(bucket), any_value(pool), any_value(replica),
        any_value(model), any_value(workload), any_value(route), sum_usd(usd), NULL, 0, 'overhead', false, 0, 0
    FROM overhead_shared
    GROUP BY delivering_attempt_id, step_s
    UNION ALL
    SELECT
        NULL, NULL, step_s, 'unattributed', pool, replica, model, NULL, NULL, sum_usd(usd), sum_steady(gpu_s), 0, basis, false, 0, 0
    FROM left_over
    GROUP BY ALL
    UNION ALL
    SELECT NULL, NULL, h.step_s, 'unattributed', h.pool, NULL, h.model, NULL, NULL, h.usd, NULL, 0, 'overhead', false, 0, 0
    FROM overhead AS h
    ANTI JOIN overhead_shared AS s
        ON s.of_pool IS NOT DISTINCT FROM h.pool AND s.of_model IS NOT DISTINCT FROM h.model AND s.step_s = h.step_s
)
SELECT
    e.* EXCLUDE (step_s),
    make_timestamptz(step_s * 1000000) AS window_start,
    (o.step_ns // 1000000000)::INTEGER AS window_s,
    step_s // 3600 AS epoch_hour
FROM entries AS e
CROSS JOIN ledger_options AS o
