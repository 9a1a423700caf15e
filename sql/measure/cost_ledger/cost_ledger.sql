-- description: Every dollar once: by attempt, step and bucket, and the costs of no attempt (docs/semantics.md#money)
-- grain: attempt_id, window_start, bucket, pool, replica, model, workload, route, tenant, basis
-- reads: attempt_costs, cost_pieces, ledger_options, model_bills, named_costs, named_pieces, pool_idle, replica_costs, unplaced_time
-- kind: view
-- unit: steps of costs.step_s, so that every window of the settings is a sum of these
-- identity: M: in every step and pool the rows add up to what its resources cost
-- Facts alone: idle time is its replica's and overhead has the scope that its record names. Who carries them depends on the
-- window that is looked at, see waste. So is what a model is billed in a step in which it was not called. Bills for replicas and pools
-- that telemetry does not know are unattributed.
WITH unplaced AS (
    SELECT pool, step_s, sum_steady(seconds) AS seconds, sum_steady(unpriced_s) AS unpriced_s
    FROM unplaced_time
    GROUP BY pool, step_s
),
-- attempts of no known pool may have been on any replica, those of a pool without any on one of which the pool is not known
homeless AS (
    SELECT step_s, sum_steady(unpriced_s) AS seconds, sum_steady(CASE WHEN pool IS NULL THEN unpriced_s ELSE 0 END) AS of_no_pool_s
    FROM unplaced
    WHERE pool IS NULL OR (pool, step_s) NOT IN (SELECT (pool, step_s) FROM replica_costs WHERE pool IS NOT NULL)
    GROUP BY step_s
),
idle AS (
    SELECT
        c.*, c.usd * (1 - c.busy_ratio) AS idle_usd, c.gpu_s * (1 - c.busy_ratio) AS idle_gpu_s,
        -- attempts that nobody saw on a replica may have been on one that seems idle
        least(1, coalesce(ratio(
            coalesce(u.seconds, 0) + coalesce(CASE WHEN c.pool IS NULL THEN h.seconds ELSE h.of_no_pool_s END, 0),
            sum(c.idle_s::DECIMAL(38, 9)) OVER (PARTITION BY c.pool, c.step_s)::DOUBLE), 0)) AS unplaced_ratio,
        -- and what it is billed for while nothing shows it, it may have worked
        least(1, unplaced_ratio + coalesce(ratio(c.unseen_s, c.idle_s), 0)) AS doubtful_ratio
    FROM replica_costs AS c
    LEFT JOIN unplaced AS u ON u.pool = c.pool AND u.step_s = c.step_s
    LEFT JOIN homeless AS h ON h.step_s = c.step_s
),
left_over AS (
    SELECT c.pool, c.replica, c.model, c.workload, c.route, c.tenant, c.step_s, c.basis, c.usd, c.gpu_s
    FROM cost_pieces AS c
    WHERE (c.level = 'none' AND c.is_best)
        OR (c.level = 'pool' AND c.is_best AND NOT c.is_pool_known)
),
-- what names a request, a model, or nothing that telemetry knows, may be for the same
billed_alike AS (
    FROM named_pieces
    UNION ALL BY NAME
    SELECT attempt_id, request_key, step_s, bucket, late_by, pool, replica, model, workload, route, tenant, basis, usd FROM named_costs
    UNION ALL BY NAME
    SELECT 'unattributed' AS bucket, step_s, pool, replica, model, workload, route, tenant, basis, usd, gpu_s FROM left_over
),
entries AS (
    FROM attempt_costs
    UNION ALL
    SELECT
        NULL, NULL, step_s, 'idle', pool, replica, NULL, NULL, NULL, NULL,
        idle_usd, idle_gpu_s, 0, basis, NOT sampled OR doubtful_ratio > 0 OR error_ratio > 0,
        CASE WHEN sampled THEN abs(idle_usd) * (error_ratio + doubtful_ratio) END,
        CASE WHEN sampled THEN abs(idle_usd) * (error_ratio + doubtful_ratio) END, NULL, NULL, NULL, NULL
    FROM idle
    -- whether a replica without samples and cost was idle, and whose it is, is unknown
    WHERE (usd IS NOT NULL OR sampled) AND (idle_gpu_s > 0 OR idle_usd <> 0)
    UNION ALL
    SELECT
        NULL, NULL, step_s, 'idle', pool, NULL, NULL, NULL, NULL, NULL,
        usd, NULL, 0, ['billing', 'allocation', 'rate_card'][rank], error_usd > 0, error_usd, error_usd, NULL, NULL, NULL, NULL
    FROM pool_idle
    UNION ALL
    SELECT
        NULL, NULL, step_s, 'overhead', pool, NULL, model, workload, route, tenant,
        sum_usd(usd), NULL, 0, basis, false, 0, 0, NULL, NULL, NULL, NULL
    FROM cost_pieces
    WHERE level = 'request' AND coalesce(request_key, session_id) IS NULL
    GROUP BY ALL
    UNION ALL
    SELECT
        NULL, NULL, step_s, 'overhead', pool, NULL, NULL, NULL, NULL, NULL,
        sum_usd(overhead_usd), NULL, 0, basis, false, 0, 0, NULL, NULL, NULL, NULL
    FROM replica_costs
    WHERE overhead_usd <> 0
    GROUP BY ALL
    UNION ALL
    SELECT
        NULL, NULL, step_s, 'overhead', NULL, NULL, model, NULL, NULL, NULL,
        sum_usd(usd), NULL, 0, basis, false, 0, 0, NULL, NULL, NULL, NULL
    FROM cost_pieces
    ANTI JOIN model_bills USING (model, step_s)
    WHERE level = 'model' AND is_best
    GROUP BY ALL
    UNION ALL
    SELECT
        attempt_id, request_key, step_s, bucket, pool, replica, model, workload, route, tenant,
        sum_usd(usd), sum_steady(gpu_s), coalesce(sum_steady(tokens), 0), basis, coalesce(bool_or(estimated), false),
        coalesce(sum_usd(error_usd), 0), coalesce(sum_usd(common_error_usd), 0), NULL, NULL, NULL, late_by
    FROM billed_alike
    GROUP BY ALL
)
SELECT
    e.* EXCLUDE (step_s),
    make_timestamptz(step_s * 1000000) AS window_start,
    (o.step_ns // 1000000000)::INTEGER AS window_s,
    step_s // 3600 AS epoch_hour
FROM entries AS e
CROSS JOIN ledger_options AS o
