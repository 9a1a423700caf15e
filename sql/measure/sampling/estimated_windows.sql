-- description: Accepted requests and tokens of all workloads with a quality gate, window by window, with interval and bounds (docs/semantics.md#goodput-from-a-sample)
-- grain: slice, slice_value, window_s, start_s, k_workload, k_model, k_pool, k_route
-- reads: estimated_strata
-- Sampled strata: the wider of square-and-add and Wilson at the size that they are worth together. What is not sampled gives
-- bounds, which add up linearly.
WITH bounded AS (
    SELECT
        *,
        passed AS lower, passed + need - labelled AS upper,
        passed_tokens AS lower_tokens, passed_tokens + need_tokens - labelled_tokens AS upper_tokens,
        sampled AND labelled < need AS uncertain,
        CASE
            WHEN policy = 'estimate' AND sampling <> 'none' AND rate IS NOT NULL
                THEN least(upper, greatest(lower, coalesce(need * CASE WHEN sampled THEN pass_rate ELSE rate END, lower)))
            WHEN policy = 'fail' THEN lower
            ELSE upper
        END AS point,
        CASE
            -- of no labelled token the share of the requests
            WHEN sampled THEN need_tokens * coalesce(token_rate, pass_rate)
            WHEN policy = 'estimate' AND sampling <> 'none' AND rate IS NOT NULL
                THEN least(upper_tokens, greatest(lower_tokens, need_tokens * rate))
            WHEN policy = 'fail' THEN lower_tokens
            ELSE upper_tokens
        END AS point_tokens,
        CASE WHEN sampled THEN greatest(lower, need * share.low) ELSE lower END AS low,
        CASE WHEN sampled THEN least(upper, need * share.high) ELSE upper END AS high,
        CASE WHEN sampled THEN greatest(lower_tokens, coalesce(need_tokens * token_share.low, 0)) ELSE lower_tokens END AS low_tokens,
        CASE WHEN sampled THEN least(upper_tokens, coalesce(need_tokens * token_share.high, upper_tokens)) ELSE upper_tokens END
            AS high_tokens
    FROM estimated_strata
),
-- what is not sampled gives no distances to square, only ends
summed AS (
    SELECT
        slice, slice_value, window_s, start_s, k_workload, k_model, k_pool, k_route,
        -- in order, so that the same strata always give the same last digit
        sum(point ORDER BY workload, model, pool, route, part_s) AS estimate,
        sum(point_tokens ORDER BY workload, model, pool, route, part_s) AS estimate_tokens,
        sum(lower)::BIGINT AS lower, sum(upper)::BIGINT AS upper,
        sum(low ORDER BY workload, model, pool, route, part_s) FILTER (WHERE NOT uncertain) AS low,
        sum(high ORDER BY workload, model, pool, route, part_s) FILTER (WHERE NOT uncertain) AS high,
        sum(low_tokens ORDER BY workload, model, pool, route, part_s) FILTER (WHERE NOT uncertain) AS low_tokens,
        sum(high_tokens ORDER BY workload, model, pool, route, part_s) FILTER (WHERE NOT uncertain) AS high_tokens,
        bool_or(policy = 'estimate' AND sampling = 'none' AND labelled < need) AS unweighted,
        count(*) FILTER (WHERE uncertain) AS strata,
        {
            size: sum(need) FILTER (WHERE uncertain),
            estimate: sum(point ORDER BY workload, model, pool, route, part_s) FILTER (WHERE uncertain),
            variance: sum(variance ORDER BY workload, model, pool, route, part_s) FILTER (WHERE uncertain),
            low: sum(low ORDER BY workload, model, pool, route, part_s) FILTER (WHERE uncertain),
            high: sum(high ORDER BY workload, model, pool, route, part_s) FILTER (WHERE uncertain),
            below: sqrt(sum((point - low) ** 2 ORDER BY workload, model, pool, route, part_s) FILTER (WHERE uncertain)),
            above: sqrt(sum((high - point) ** 2 ORDER BY workload, model, pool, route, part_s) FILTER (WHERE uncertain))
        } AS requests,
        {
            size: sum(need_tokens ORDER BY workload, model, pool, route, part_s) FILTER (WHERE uncertain),
            estimate: sum(point_tokens ORDER BY workload, model, pool, route, part_s) FILTER (WHERE uncertain),
            variance: sum(token_variance ORDER BY workload, model, pool, route, part_s) FILTER (WHERE uncertain),
            low: sum(low_tokens ORDER BY workload, model, pool, route, part_s) FILTER (WHERE uncertain),
            high: sum(high_tokens ORDER BY workload, model, pool, route, part_s) FILTER (WHERE uncertain),
            below: sqrt(sum((point_tokens - low_tokens) ** 2 ORDER BY workload, model, pool, route, part_s) FILTER (WHERE uncertain)),
            above: sqrt(sum((high_tokens - point_tokens) ** 2 ORDER BY workload, model, pool, route, part_s) FILTER (WHERE uncertain))
        } AS tokens
    FROM bounded
    GROUP BY ALL
),
combined AS (
    SELECT * REPLACE (sampled_total(strata, requests) AS requests, sampled_total(strata, tokens) AS tokens) FROM summed
)
SELECT
    * EXCLUDE (requests, tokens, strata)
        REPLACE (
            coalesce(low, 0) + coalesce(requests.low, 0) AS low,
            coalesce(high, 0) + coalesce(requests.high, 0) AS high,
            coalesce(low_tokens, 0) + coalesce(tokens.low, 0) AS low_tokens,
            coalesce(high_tokens, 0) + coalesce(tokens.high, 0) AS high_tokens
        )
FROM combined
