-- description: Money, GPU time and tokens of each step at the finest dimensions; what nobody carries yet beside it
-- grain: step_s, cut, slice_value, workload, model, pool, route, tenant, bucket
-- reads: cost_ledger, slice_cuts, slice_values
-- unit: `unknown` is what telemetry did not report; of overhead NULL is all of them, and `tenant` is of overhead alone
-- Errors of one replica in one step have one cause and add up; those of different replicas or steps are independent.
-- Cut 0 has the finest dimensions; each slice by tenant or attribute has its value within workload and pool, which carry
-- idle time and what labels are missing.
WITH values_of AS ( -- a key that was used again names several requests, whose money counts once all the same
    SELECT request_key, min(cut_values) AS cut_values FROM slice_values GROUP BY request_key
),
entries AS (
    SELECT 0 AS cut, NULL::VARCHAR AS slice_value, * FROM cost_ledger
    UNION ALL BY NAME
    SELECT
        k.cut,
        coalesce(v.cut_values[k.cut], CASE WHEN k.path = '$' THEN l.tenant END, CASE WHEN l.bucket <> 'overhead' THEN 'unknown' END)
            AS slice_value,
        l.* REPLACE (
            CASE WHEN l.bucket = 'overhead' THEN l.model END AS model,
            CASE WHEN l.bucket = 'overhead' THEN l.route END AS route
        )
    FROM cost_ledger AS l
    CROSS JOIN slice_cuts AS k
    LEFT JOIN values_of AS v USING (request_key)
),
causes AS (
    SELECT
        epoch_us(window_start) // 1000000 AS step_s, cut, slice_value, replica,
        CASE WHEN bucket = 'overhead' THEN workload ELSE coalesce(workload, 'unknown') END AS workload,
        CASE WHEN bucket = 'overhead' THEN model ELSE coalesce(model, 'unknown') END AS model,
        CASE WHEN bucket = 'overhead' THEN pool ELSE coalesce(pool, 'unknown') END AS pool,
        CASE WHEN bucket = 'overhead' THEN route ELSE coalesce(route, 'unknown') END AS route,
        CASE WHEN bucket = 'overhead' THEN tenant END AS tenant,
        bucket,
        sum(usd::DECIMAL(38, 18)) AS usd,
        sum(gpu_s::DECIMAL(38, 12)) AS gpu_s,
        sum(tokens::DECIMAL(38, 12)) AS tokens,
        sum(usd::DECIMAL(38, 18)) FILTER (WHERE late_by = 'queue') AS queue_late_usd,
        sum(usd::DECIMAL(38, 18)) FILTER (WHERE late_by = 'retries') AS retries_late_usd,
        sum(usd::DECIMAL(38, 18)) FILTER (WHERE late_by = 'prefill') AS prefill_late_usd,
        sum(usd::DECIMAL(38, 18)) FILTER (WHERE late_by = 'work') AS work_late_usd,
        count(*) FILTER (WHERE usd IS NULL AND (gpu_s > 0 OR tokens > 0)) AS unpriced,
        bool_or(estimated) AS estimated,
        CASE WHEN bool_or(usd IS NOT NULL AND error_usd IS NULL) THEN NULL ELSE sum(abs(error_usd)::DECIMAL(38, 18))::DOUBLE END AS error_usd,
        sum(abs(common_error_usd)::DECIMAL(38, 18))::DOUBLE AS common_usd
    FROM entries
    GROUP BY ALL
)
SELECT
    step_s, cut, slice_value, workload, model, pool, route, tenant, bucket,
    sum(usd) AS usd, sum(queue_late_usd) AS queue_late_usd, sum(retries_late_usd) AS retries_late_usd, sum(prefill_late_usd) AS prefill_late_usd, sum(work_late_usd) AS work_late_usd,
    sum(gpu_s) AS gpu_s, sum(tokens) AS tokens, sum(unpriced)::BIGINT AS unpriced, bool_or(estimated) AS estimated,
    bool_and(usd IS NULL OR error_usd IS NOT NULL) AS is_bounded,
    sum(((error_usd - common_usd) ** 2)::DECIMAL(38, 22)) AS variance,
    sum(common_usd::DECIMAL(38, 18)) AS common_usd
FROM causes
GROUP BY ALL
