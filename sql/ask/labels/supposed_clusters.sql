-- description: How labels that would be there go together within sessions, in the shape of `label_clusters`
-- grain: slice, slice_value, window_s, start_s, k_workload, k_model, k_pool, k_route, workload
-- reads: plan_pairs, plan_rules, supposed_labels
-- Whole sessions bring as many pairs as requests; where requests are drawn one by one, both of a pair have to be.
WITH counted AS (
    SELECT
        slice, slice_value, window_s, start_s, workload,
        ratio(sum(labelled) - sum(labelled_now), sum(need) - sum(labelled_now)) AS drawn,
        coalesce(ratio(sum(passed), sum(labelled)), 0) AS rate
    FROM supposed_labels
    WHERE slice <> 'stratum'
    GROUP BY ALL
),
paired AS (
    SELECT
        c.* EXCLUDE (drawn), p.pairs, p.labelled_pairs, p.passed_pairs, p.both_passed_pairs, p.likeness,
        p.labelled_followers + CASE WHEN r.by_session THEN coalesce(drawn, 0) * (p.followers - p.labelled_followers) ELSE 0 END
            AS followers,
        coalesce(CASE
            WHEN r.by_session THEN drawn * (p.pairs - p.labelled_pairs)
            ELSE drawn * p.half_labelled_pairs + drawn ** 2 * (p.pairs - p.labelled_pairs - p.half_labelled_pairs)
        END, 0) AS more_pairs,
        -- of each request that will have a label the others of its session
        p.labelled_pairs + p.half_labelled_pairs / 2
            + coalesce(drawn, 0) * (p.pairs - p.labelled_pairs - p.half_labelled_pairs / 2) AS beside_labelled
    FROM counted AS c
    JOIN plan_pairs AS p USING (workload)
    JOIN plan_rules AS r USING (workload)
)
SELECT
    slice, slice_value, window_s, start_s,
    workload AS k_workload, NULL::VARCHAR AS k_model, NULL::VARCHAR AS k_pool, NULL::VARCHAR AS k_route,
    workload, pairs, followers,
    labelled_pairs + more_pairs AS labelled_pairs,
    2 * (beside_labelled - labelled_pairs - more_pairs) AS half_labelled_pairs,
    passed_pairs + rate * more_pairs AS passed_pairs,
    both_passed_pairs + (rate ** 2 + likeness * rate * (1 - rate)) * more_pairs AS both_passed_pairs
FROM paired
