-- description: Accepted requests and tokens of all workloads with a quality gate, window by window, with interval and bounds (docs/semantics.md#goodput-from-a-sample)
-- grain: slice, slice_value, window_s, start_s, k_workload, k_model, k_pool, k_route
-- reads: estimated_strata
-- Sampled strata: the wider of square-and-add and Wilson at the size that they are worth together. What is not sampled gives
-- bounds, which add up linearly. Rows of one stratum are its own, and most are.
WITH bounded AS (
    SELECT
        *,
        passed AS lower, passed + need - labelled - known_failed AS upper,
        passed_tokens AS lower_tokens, passed_tokens + need_tokens - labelled_tokens - known_failed_tokens AS upper_tokens,
        sampled AND labelled < need AS is_uncertain,
        count(*) OVER (PARTITION BY slice, slice_value, window_s, start_s, k_workload, k_model, k_pool, k_route) AS strata,
        CASE
            WHEN policy = 'estimate' AND sampling <> 'none' AND rate IS NOT NULL
                THEN least(upper, greatest(lower, coalesce(need * CASE WHEN sampled THEN pass_rate ELSE rate END, lower)))
            WHEN policy = 'fail' THEN lower
            ELSE upper
        END AS point,
        CASE
            -- of no labelled token the share of the requests
            WHEN sampled THEN least(upper_tokens, greatest(lower_tokens, need_tokens * coalesce(token_rate, pass_rate)))
            WHEN policy = 'estimate' AND sampling <> 'none' AND rate IS NOT NULL
                THEN least(upper_tokens, greatest(lower_tokens, need_tokens * rate))
            WHEN policy = 'fail' THEN lower_tokens
            ELSE upper_tokens
        END AS point_tokens,
        -- an interval holds its estimate, whatever rounding makes of the share of requests that are all labelled
        CASE WHEN sampled THEN least(point, greatest(lower, need * share.low)) ELSE lower END AS low,
        CASE WHEN sampled THEN greatest(point, least(upper, need * share.high)) ELSE upper END AS high,
        CASE WHEN sampled THEN least(point_tokens, greatest(lower_tokens, coalesce(need_tokens * token_share.low, 0)))
            ELSE lower_tokens END AS low_tokens,
        CASE WHEN sampled THEN greatest(point_tokens, least(upper_tokens, coalesce(need_tokens * token_share.high, upper_tokens)))
            ELSE upper_tokens END AS high_tokens
    FROM estimated_strata
),
-- in order, so that the same strata always give the same last digit
together AS (
    SELECT *, row_number() OVER (ORDER BY workload, model, pool, route, part_s) AS nth FROM bounded WHERE strata > 1
),
sloped AS (
    SELECT
        *,
        count_if(is_uncertain) OVER of_row AS uncertain,
        ratio(
            sum(need / labelled * passed_tokens ORDER BY nth) FILTER (WHERE is_uncertain) OVER of_row,
            sum(need / labelled * labelled_tokens ORDER BY nth) FILTER (WHERE is_uncertain) OVER of_row) AS all_rate,
        CASE WHEN is_uncertain AND uncertain > 1 THEN shared_slope(token_rate, labelled, all_rate, uncertain) END AS slope,
        slope_squares(
            slope, labelled, passed_tokens, labelled_tokens - passed_tokens, passed_squares, labelled_squares - passed_squares
        ) AS squares,
        coalesce(expanded_weight(slope, need, labelled, need_tokens, passed_tokens, labelled_tokens - passed_tokens) - point_tokens, 0)
            AS token_shift
    FROM together
    WINDOW of_row AS (PARTITION BY slice, slice_value, window_s, start_s, k_workload, k_model, k_pool, k_route)
),
spread AS (
    SELECT
        *,
        ratio(
            sum(squares / mean_tokens ** 2 ORDER BY nth) FILTER (WHERE slope IS NOT NULL AND mean_tokens > 0) OVER of_row,
            sum(labelled - 1) FILTER (WHERE slope IS NOT NULL AND mean_tokens > 0) OVER of_row) AS token_spread,
        expanded_variance(need, labelled, need_tokens, squares, token_spread, design_effect) AS token_variance
    FROM sloped
    WINDOW of_row AS (PARTITION BY slice, slice_value, window_s, start_s, k_workload, k_model, k_pool, k_route)
),
summed AS (
    SELECT
        slice, slice_value, window_s, start_s, k_workload, k_model, k_pool, k_route,
        sum(lower)::BIGINT AS lower, sum(upper)::BIGINT AS upper,
        bool_or(policy = 'estimate' AND sampling = 'none' AND labelled < need) AS unweighted,
        strata_sums(is_uncertain, need, point, variance, NULL, labelled, low, high, low, high, nth) AS requests,
        strata_sums(
            is_uncertain, need_tokens, point_tokens + token_shift, token_variance, token_variance ** 2 / greatest(1, labelled - 1),
            labelled, low_tokens + token_shift, high_tokens + token_shift, lower_tokens, upper_tokens, nth) AS tokens
    FROM spread
    GROUP BY ALL
),
-- materialized: inlined, its expressions are planned over and over
totalled AS MATERIALIZED (
    SELECT * REPLACE (strata_total(requests) AS requests, strata_total(tokens) AS tokens) FROM summed
)
SELECT
    slice, slice_value, window_s, start_s, k_workload, k_model, k_pool, k_route, lower, upper, unweighted,
    requests.value AS estimate, requests.low AS low, requests.high AS high,
    tokens.value AS estimate_tokens, tokens.low AS low_tokens, tokens.high AS high_tokens
FROM totalled
UNION ALL BY NAME
SELECT
    slice, slice_value, window_s, start_s, k_workload, k_model, k_pool, k_route, lower::BIGINT AS lower, upper::BIGINT AS upper,
    policy = 'estimate' AND sampling = 'none' AND labelled < need AS unweighted,
    point AS estimate, low, high,
    point_tokens AS estimate_tokens, low_tokens, high_tokens
FROM bounded
WHERE strata = 1
