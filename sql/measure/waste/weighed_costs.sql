-- description: What requests that need a label cost by where and when it was spent, and the same squared: the weights of their labels
-- grain: window_s, start_s, cut, slice_value, workload, model, pool, route, part_s
-- reads: cost_ledger, grains, slice_cuts, slice_values, workload_rules
-- unit: `all_`: with those that have no label
WITH spent AS (
    SELECT
        epoch_us(l.window_start) // 1000000 AS step_s, l.workload,
        coalesce(l.model, 'unknown') AS model, coalesce(l.pool, 'unknown') AS pool, coalesce(l.route, 'unknown') AS route,
        l.request_key, l.bucket, l.usd
    FROM cost_ledger AS l
    JOIN workload_rules AS w ON w.workload = l.workload AND w.has_quality
    WHERE l.bucket IN ('accepted', 'rejected', 'unlabelled') AND l.usd IS NOT NULL
),
by_request AS (
    SELECT
        window_s, step_s // window_s * window_s AS start_s, window_part(step_s, window_s) AS part_s,
        workload, model, pool, route, request_key, bucket, sum(usd::DECIMAL(38, 18))::DOUBLE AS usd
    FROM spent
    CROSS JOIN grains
    GROUP BY ALL
),
values_of AS ( -- a key that was used again names several requests, whose money counts once all the same
    SELECT request_key, min(cut_values) AS cut_values FROM slice_values GROUP BY request_key
),
cuts AS (
    SELECT 0 AS cut, NULL::VARCHAR AS slice_value, * FROM by_request
    UNION ALL BY NAME
    SELECT k.cut, coalesce(v.cut_values[k.cut], 'unknown') AS slice_value, r.*
    FROM by_request AS r CROSS JOIN slice_cuts AS k LEFT JOIN values_of AS v USING (request_key)
)
SELECT
    window_s, start_s, cut, slice_value, workload, model, pool, route, part_s,
    count(*) AS all_requests,
    count(*) FILTER (WHERE bucket = 'accepted') AS accepted_requests,
    count(*) FILTER (WHERE bucket = 'rejected') AS rejected_requests,
    coalesce(sum(usd::DECIMAL(38, 18)) FILTER (WHERE bucket = 'accepted'), 0) AS accepted_usd,
    coalesce(sum(usd::DECIMAL(38, 18)) FILTER (WHERE bucket = 'rejected'), 0) AS rejected_usd,
    coalesce(sum(usd::DECIMAL(38, 18)) FILTER (WHERE bucket = 'unlabelled'), 0) AS unlabelled_usd,
    sum((usd ** 2)::DECIMAL(38, 18)) AS all_squares,
    coalesce(sum((usd ** 2)::DECIMAL(38, 18)) FILTER (WHERE bucket = 'accepted'), 0) AS accepted_squares,
    coalesce(sum((usd ** 2)::DECIMAL(38, 18)) FILTER (WHERE bucket = 'rejected'), 0) AS rejected_squares
FROM cuts
GROUP BY ALL
