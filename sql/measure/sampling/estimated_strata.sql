-- description: Each stratum's accepted requests and tokens, estimated from its labels, with Wilson's interval at the size that its design is worth (docs/semantics.md#goodput-from-a-sample)
-- grain: slice, slice_value, window_s, start_s, k_workload, k_model, k_pool, k_route, workload, model, pool, route, part_s
-- reads: label_clusters, label_strata, workload_rules
-- unit: design_effect: variance beside that of as many requests labelled one by one
WITH ruled AS (
    SELECT
        s.*,
        w.unlabelled AS policy,
        w.sampling,
        coalesce(w.unlabelled = 'estimate' AND w.sampling <> 'none' AND s.labelled >= CASE WHEN differs THEN 2 ELSE 1 END, false)
            AS sampled,
        sum(s.need) OVER of_workload AS all_need,
        sum(s.labelled) OVER of_workload AS all_labelled,
        sum(s.passed) OVER of_workload AS all_passed
    FROM label_strata AS s
    JOIN workload_rules AS w USING (workload)
    WINDOW of_workload AS (PARTITION BY slice, slice_value, window_s, start_s, k_workload, k_model, k_pool, k_route, workload)
),
clustered AS (
    SELECT
        r.*,
        ratio(all_passed, all_labelled) AS rate,
        ratio(all_labelled, all_need) AS drawn,
        -- 0 where a request's label says nothing about its session's others, 1 where sessions are labelled wholly or not at all
        CASE
            WHEN sampling = 'session' THEN 1
            WHEN c.labelled_pairs > 0 AND drawn < 1
                THEN least(1, greatest(0, (1 - drawn ** 2 * c.pairs / c.labelled_pairs) / (1 - drawn)))
            ELSE 0
        END AS by_session,
        coalesce(c.both_passed_pairs - 2 * rate * c.passed_pairs + rate ** 2 * c.labelled_pairs, 0) AS together,
        all_labelled / (1 + by_session * (all_labelled / (all_labelled - coalesce(c.followers, 0)) - 1)) AS draws
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
        CASE WHEN rate > 0 AND rate < 1
            THEN greatest(1, 1 + by_session * together / (all_labelled * rate * (1 - rate)))
            ELSE all_labelled / draws
        END * (student(draws - 1) / student(all_labelled - 1)) ** 2 AS design_effect,
        -- of tokens: what unequal weights leave (Kish 1965), and no more than the residuals of the ratio show
        least(
            labelled_tokens ** 2 / nullif(labelled_squares, 0),
            CASE WHEN passed_tokens > 0 AND passed_tokens < labelled_tokens
                THEN token_rate * (1 - token_rate) * labelled_tokens ** 2
                    / nullif(passed_squares * (1 - 2 * token_rate) + token_rate ** 2 * labelled_squares, 0) END
        ) AS token_size
    FROM clustered
)
SELECT
    * EXCLUDE (all_need, all_labelled, all_passed, drawn, by_session, together, token_size),
    wilson(pass_rate, drawn_size(labelled, need) / design_effect) AS share,
    need ** 2 * pass_rate * (1 - pass_rate) / nullif(labelled - 1, 0) * (1 - labelled / need) * design_effect AS variance,
    wilson(token_rate, token_size * drawn_size(labelled, need) / labelled / design_effect) AS token_share,
    need_tokens ** 2 * token_rate * (1 - token_rate) / token_size * ratio(labelled, labelled - 1) * (1 - labelled / need)
        * design_effect AS token_variance
FROM designed
