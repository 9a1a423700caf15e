-- description: What evaluators, and the quality gate, say of the answers that were delivered, by window, workload and model (docs/semantics.md#what-evaluators-say)
-- grain: window_start, window_s, workload, model, evaluator, label
-- reads: judged_clusters, judged_strata, workload_rules
-- Rows without an evaluator are of the gate, those without a label of all labels of their evaluator.
WITH needed AS (
    -- of all labels every answer, also those of a stratum in which none was judged
    SELECT * REPLACE (CASE WHEN label IS NULL THEN answered ELSE coalesce(need, 0) END AS need) FROM judged_strata
),
counted AS (
    SELECT
        s.*,
        w.sampling,
        sum(need) OVER of_row AS all_need,
        sum(judged) OVER of_row AS all_judged,
        sum(passed) OVER of_row AS all_passed
    FROM needed AS s
    LEFT JOIN (SELECT workload, sampling FROM workload_rules) AS w USING (workload)
    WINDOW of_row AS (PARTITION BY window_s, start_s, workload, model, evaluator, label)
),
paired AS (
    SELECT
        c.*,
        all_passed / all_judged AS rate,
        -- as far as labels of any kind come by session
        first_value(labels_by_session(sampling, all_judged / all_need, p.pairs, p.labelled_pairs)) OVER of_evaluator AS by_session,
        p.labelled_pairs, p.passed_pairs, p.both_passed_pairs, p.followers
    FROM counted AS c
    LEFT JOIN judged_clusters AS p
        ON p.window_s = c.window_s AND p.start_s = c.start_s AND p.workload = c.workload AND p.model = c.model
        AND p.evaluator IS NOT DISTINCT FROM c.evaluator AND p.label IS NOT DISTINCT FROM c.label
    WINDOW of_evaluator AS (PARTITION BY c.window_s, c.start_s, c.workload, c.model, c.evaluator ORDER BY c.label NULLS FIRST)
),
clustered AS (
    SELECT
        *,
        alike_in_sessions(rate, labelled_pairs, passed_pairs, both_passed_pairs) AS alike,
        label_draws(all_judged, followers, by_session) AS draws,
        judged >= CASE WHEN differs THEN 2 ELSE 1 END AS sampled,
        ratio(passed, judged) AS pass_rate,
        row_number() OVER (
            PARTITION BY window_s, start_s, workload, model, evaluator, label ORDER BY pool, route, part_s) AS nth
    FROM paired
),
designed AS (
    SELECT *, design_effect(rate, all_judged, by_session, alike, draws) AS effect FROM clustered
),
shared AS (
    SELECT
        *,
        drawn_size(judged, need) / effect AS n,
        stratum_variance(need, pass_rate, judged, effect) AS variance,
        passed AS lower, passed + need - judged AS upper
    FROM designed
),
bounded AS (
    SELECT
        *,
        CASE WHEN sampled THEN need * pass_rate ELSE least(upper, greatest(lower, need * rate)) END AS point,
        CASE WHEN sampled THEN greatest(lower, need * wilson(pass_rate, n).low) ELSE lower END AS low,
        CASE WHEN sampled THEN least(upper, need * wilson(pass_rate, n).high) ELSE upper END AS high,
        sampled AND judged < need AS is_uncertain
    FROM shared
),
summed AS (
    SELECT
        window_s, start_s, workload, model, evaluator, label,
        any_value(sampling) IS NOT DISTINCT FROM 'none' AS unweighted,
        sum(judged)::BIGINT AS judged, sum(passed)::BIGINT AS passed,
        sum(need ORDER BY nth) AS need,
        strata_sums(is_uncertain, need, point, variance, NULL, judged, low, high, low, high, nth) AS sums
    FROM bounded
    GROUP BY ALL
),
opened AS (
    SELECT
        *,
        strata_total(sums) AS total,
        -- of one label any answer that nobody judged may be
        max(need - judged) FILTER (WHERE label IS NULL) OVER (PARTITION BY window_s, start_s, workload, model, evaluator) AS unjudged,
        max(need) FILTER (WHERE label IS NULL) OVER (PARTITION BY window_s, start_s, workload, model, evaluator) AS answered
    FROM summed
)
SELECT
    make_timestamptz(start_s * 1000000) AS window_start, window_s, workload, model, evaluator, label,
    answered::BIGINT AS answered, judged, passed,
    -- of labels that nobody drew there are bounds and no estimate
    -- parts of answers may add up to a little more than themselves
    CASE WHEN NOT unweighted THEN CASE WHEN total.value > need THEN 1 ELSE total.value / need END END AS pass_ratio,
    CASE WHEN unweighted THEN passed / (judged + unjudged) ELSE least(total.low / need, pass_ratio) END AS pass_ci_low_ratio,
    CASE WHEN unweighted THEN (passed + unjudged) / (judged + unjudged)
        WHEN total.high > need THEN 1 ELSE greatest(total.high / need, pass_ratio) END AS pass_ci_high_ratio
FROM opened
