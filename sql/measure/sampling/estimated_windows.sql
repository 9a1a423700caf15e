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
        sampled AND labelled < need AS is_uncertain,
        -- in order, so that the same strata always give the same last digit
        row_number() OVER (
            PARTITION BY slice, slice_value, window_s, start_s, k_workload, k_model, k_pool, k_route
            ORDER BY workload, model, pool, route, part_s) AS nth,
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
summed AS (
    SELECT
        slice, slice_value, window_s, start_s, k_workload, k_model, k_pool, k_route,
        sum(lower)::BIGINT AS lower, sum(upper)::BIGINT AS upper,
        bool_or(policy = 'estimate' AND sampling = 'none' AND labelled < need) AS unweighted,
        strata_sums(is_uncertain, need, point, variance, labelled, low, high, nth) AS requests,
        strata_sums(is_uncertain, need_tokens, point_tokens, token_variance, labelled, low_tokens, high_tokens, nth) AS tokens
    FROM bounded
    GROUP BY ALL
),
totalled AS (
    SELECT * REPLACE (strata_total(requests) AS requests, strata_total(tokens) AS tokens) FROM summed
)
SELECT
    * EXCLUDE (requests, tokens),
    requests.value AS estimate, requests.low AS low, requests.high AS high,
    tokens.value AS estimate_tokens, tokens.low AS low_tokens, tokens.high AS high_tokens
FROM totalled
