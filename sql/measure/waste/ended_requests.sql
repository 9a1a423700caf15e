-- description: How many requests ended in each step, and the bucket of their verdict: those who share overhead, and how many of them have a label (docs/semantics.md#overhead)
-- grain: step_s, cut, slice_value, workload, model, pool, route, tenant, bucket
-- reads: ledger_options, measured_range, overhead_kinds, requests, slice_cuts, slice_values, workload_rules
-- unit: `tenant` is NULL unless some overhead may be a tenant's
WITH ended AS (
    SELECT
        request_key, epoch_us(ended_at) // 1000000 AS ended_s,
        epoch_us(ended_at) * 1000 // step_ns * step_ns // 1000000000 AS step_s,
        workload, coalesce(model, 'unknown') AS model, coalesce(pool, 'unknown') AS pool, coalesce(route, 'unknown') AS route,
        CASE WHEN is_of_tenants THEN tenant END AS tenant,
        CASE WHEN outcome = 'cancelled' THEN 'abandoned' ELSE verdict END AS bucket,
        needs_label,
        needs_label AND pass_quality IS NOT NULL AS is_labelled
    FROM requests
    CROSS JOIN ledger_options
    CROSS JOIN overhead_kinds
    CROSS JOIN measured_range
    WHERE verdict <> 'in_flight' AND epoch_us(ended_at) // 1000000 >= from_s AND epoch_us(ended_at) // 1000000 < until_s
)
SELECT 0 AS cut, NULL::VARCHAR AS slice_value, * EXCLUDE (request_key, ended_s, needs_label, is_labelled),
    count(*) AS requests, count(*) FILTER (WHERE needs_label) AS need, count(*) FILTER (WHERE is_labelled) AS labelled
FROM ended
GROUP BY ALL
UNION ALL BY NAME
SELECT k.cut, v.cut_values[k.cut] AS slice_value, e.* EXCLUDE (request_key, ended_s, needs_label, is_labelled),
    count(*) AS requests, count(*) FILTER (WHERE needs_label) AS need, count(*) FILTER (WHERE is_labelled) AS labelled
FROM ended AS e
JOIN slice_values AS v USING (request_key, ended_s)
CROSS JOIN slice_cuts AS k
WHERE (SELECT is_any FROM overhead_kinds) OR EXISTS (FROM workload_rules WHERE has_quality)
GROUP BY ALL
