-- description: The strata in which judged answers count as drawn at random, and how many answers they stand for (docs/semantics.md#strata)
-- grain: window_s, start_s, workload, model, evaluator, label, pool, route, part_s
-- reads: judged_cells, judged_clusters, workload_rules
-- unit: need: answers, of one label as large a part of them as of the judged ones; open: those that nobody judged
WITH timed AS (
    SELECT
        *,
        labels_tell_times_apart(
            sum(judged) FILTER (WHERE label IS NULL) OVER of_evaluator, count(*) FILTER (WHERE label IS NULL) OVER of_evaluator) AS by_time
    FROM judged_cells
    WINDOW of_evaluator AS (PARTITION BY window_s, start_s, workload, model, evaluator)
),
cells AS (
    SELECT
        window_s, start_s, workload, model, evaluator, label, pool, route, CASE WHEN by_time THEN part_s END AS part_s,
        sum(answered) AS answered, sum(judged) AS judged, sum(passed) AS passed
    FROM timed
    GROUP BY ALL
),
clustered AS (
    SELECT c.*, w.sampling, p.pairs, p.labelled_pairs, p.half_labelled_pairs
    FROM cells AS c
    LEFT JOIN (SELECT workload, sampling FROM workload_rules) AS w USING (workload)
    LEFT JOIN judged_clusters AS p
        ON p.window_s = c.window_s AND p.start_s = c.start_s AND p.workload = c.workload AND p.model = c.model
        AND p.evaluator IS NOT DISTINCT FROM c.evaluator AND p.label IS NOT DISTINCT FROM c.label
),
rated AS (
    SELECT
        *,
        sum(answered) OVER of_row AS all_answered,
        sum(judged) OVER of_row AS all_judged,
        coalesce(label IS NULL AND rates_differ(
            rates_unlike(sum_steady(judged ** 2 / answered) OVER of_row, all_judged, all_answered),
            count(*) OVER of_row - 1,
            requests_per_draw(sampling, all_answered, all_judged, pairs, labelled_pairs, half_labelled_pairs)), false) AS is_uneven
    FROM clustered
    WINDOW of_row AS (PARTITION BY window_s, start_s, workload, model, evaluator, label)
),
placed AS (
    SELECT
        *,
        bool_or(is_uneven) OVER of_evaluator AS differs,
        sum(judged) FILTER (WHERE label IS NULL) OVER of_cell AS judged_by
    FROM rated
    WINDOW
        of_evaluator AS (PARTITION BY window_s, start_s, workload, model, evaluator),
        of_cell AS (PARTITION BY window_s, start_s, workload, model, evaluator, pool, route, part_s)
),
summed AS (
    SELECT
        window_s, start_s, workload, model, evaluator, label,
        CASE WHEN differs AND judged_by >= 2 THEN pool END AS pool,
        CASE WHEN differs AND judged_by >= 2 THEN route END AS route,
        CASE WHEN differs AND judged_by >= 2 THEN part_s END AS part_s,
        any_value(differs) AS differs,
        sum(answered)::BIGINT AS answered, sum(judged)::BIGINT AS judged, sum(passed)::BIGINT AS passed
    FROM placed
    GROUP BY ALL
)
SELECT
    s.* EXCLUDE (answered),
    e.answered,
    e.answered * ratio(s.judged, e.judged) AS need
FROM summed AS s
JOIN summed AS e
    ON e.label IS NULL AND e.window_s = s.window_s AND e.start_s = s.start_s AND e.workload = s.workload AND e.model = s.model
    AND e.evaluator IS NOT DISTINCT FROM s.evaluator
    AND e.pool IS NOT DISTINCT FROM s.pool AND e.route IS NOT DISTINCT FROM s.route AND e.part_s IS NOT DISTINCT FROM s.part_s
