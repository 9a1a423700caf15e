-- description: The strata in which judged answers count as drawn at random, and how many answers they stand for (docs/semantics.md#strata)
-- grain: window_s, start_s, workload, model, evaluator, label, pool, route, part_s
-- reads: judged_cells
-- unit: need: answers, of one label as large a part of them as of the judged ones; open: those that nobody judged
WITH rated AS (
    SELECT
        *,
        coalesce(label IS NULL AND rates_differ(
            rates_unlike(sum_steady(judged ** 2 / answered) OVER of_row, sum(judged) OVER of_row, sum(answered) OVER of_row),
            count(*) OVER of_row - 1), false) AS is_uneven
    FROM judged_cells
    WINDOW of_row AS (PARTITION BY window_s, start_s, workload, model, evaluator, label)
),
placed AS (
    SELECT *, bool_or(is_uneven) OVER of_evaluator AS differs
    FROM rated
    WINDOW of_evaluator AS (PARTITION BY window_s, start_s, workload, model, evaluator)
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
