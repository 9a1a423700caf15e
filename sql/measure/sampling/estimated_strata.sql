-- description: Each stratum's accepted requests and tokens, estimated from its labels, with Wilson's interval at the size that its design is worth (docs/semantics.md#goodput-from-a-sample)
-- grain: slice, slice_value, window_s, start_s, k_workload, k_model, k_pool, k_route, workload, model, pool, route, part_s
-- reads: label_clusters, label_strata, workload_rules
-- unit: design_effect: variance beside that of as many requests labelled one by one
WITH drawn AS (
    SELECT
        s.*,
        w.unlabelled AS policy,
        -- sessions of which single requests were judged: those judged whole are the short ones, and nobody drew those
        CASE WHEN 20 * sum(s.partly_judged) OVER of_workload > sum(s.labelled) OVER of_workload THEN 'none' ELSE w.sampling END
            AS sampling
    FROM label_strata AS s
    JOIN workload_rules AS w USING (workload)
    WINDOW of_workload AS (PARTITION BY slice, slice_value, window_s, start_s, k_workload, k_model, k_pool, k_route, workload)
),
ruled AS (
    SELECT
        s.*,
        coalesce(policy = 'estimate' AND sampling <> 'none' AND s.labelled >= CASE WHEN differs THEN 2 ELSE 1 END, false) AS sampled,
        sum(s.need) OVER of_workload AS all_need,
        sum(s.labelled) OVER of_workload AS all_labelled,
        sum(s.passed) OVER of_workload AS all_passed
    FROM drawn AS s
    WINDOW of_workload AS (PARTITION BY slice, slice_value, window_s, start_s, k_workload, k_model, k_pool, k_route, workload)
),
clustered AS (
    SELECT
        r.*,
        ratio(all_passed, all_labelled) AS rate,
        ratio(all_labelled, all_need) AS drawn,
        labels_by_session(sampling, drawn, c.pairs, c.labelled_pairs) AS by_session,
        alike_in_sessions(rate, c.labelled_pairs, c.passed_pairs, c.both_passed_pairs) AS alike,
        label_draws(all_labelled, c.followers, by_session) AS draws
    FROM ruled AS r
    LEFT JOIN label_clusters AS c
        ON c.slice = r.slice AND c.slice_value IS NOT DISTINCT FROM r.slice_value AND c.window_s = r.window_s AND c.start_s = r.start_s AND c.workload = r.workload
        AND c.k_workload IS NOT DISTINCT FROM r.k_workload AND c.k_model IS NOT DISTINCT FROM r.k_model
        AND c.k_pool IS NOT DISTINCT FROM r.k_pool AND c.k_route IS NOT DISTINCT FROM r.k_route
),
designed AS (
    SELECT
        *,
        ratio(passed, labelled) AS pass_rate,
        ratio(passed_tokens, labelled_tokens) AS token_rate,
        design_effect(rate, all_labelled, by_session, alike, draws) AS design_effect,
        need_tokens / need AS mean_tokens,
        unequal_within(
            need, need_tokens, need_squares, passed, passed_tokens, labelled - passed, labelled_tokens - passed_tokens) AS unequal,
        outcome_weights(passed, passed_tokens, passed_squares, mean_tokens, unequal) AS passed_weights,
        outcome_weights(
            labelled - passed, labelled_tokens - passed_tokens, labelled_squares - passed_squares, mean_tokens, unequal
        ) AS failed_weights
    FROM clustered
),
sized AS (
    SELECT
        *,
        drawn_size(labelled, need) / design_effect AS size,
        weight_effect(token_rate, passed_weights, failed_weights) AS token_effect
    FROM designed
),
near AS (
    SELECT *, wilson(token_rate, size / token_effect) AS near_share FROM sized
)
SELECT
    * EXCLUDE (
        all_need, all_labelled, all_passed, drawn, by_session, alike, unequal, passed_weights, failed_weights, size, token_effect,
        near_share),
    wilson(pass_rate, size) AS share,
    stratum_variance(need, pass_rate, labelled, design_effect) AS variance,
    weighted_wilson(token_rate, size, token_effect, near_share, passed_weights, failed_weights) AS token_share
FROM near
