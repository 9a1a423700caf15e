-- description: The cells that a plan can tell apart, what is known of each, and the pass rate that it counts on (docs/semantics.md#a-sampling-plan)
-- grain: workload, model, pool, route, part_s
-- reads: plan_units
-- rate: of the labels, as if there were z^2 more that pass like the workload's; the workload's as if z^2 more passed by half
-- unit: effort: how many labels a cell takes where the least varied cell of its workload is labelled once per request
WITH counted AS (
    SELECT
        workload, model, pool, route, part_s,
        count(*) AS offered,
        count(*) FILTER (WHERE needs_label) AS need,
        count(passed) FILTER (WHERE needs_label) AS labelled,
        count(*) FILTER (WHERE needs_label AND passed) AS passed
    FROM plan_units
    GROUP BY ALL
),
rated AS (
    SELECT
        *,
        shrunk(sum(passed) OVER of_workload, sum(labelled) OVER of_workload, 0.5) AS workload_rate,
        shrunk(passed, labelled, workload_rate) AS rate
    FROM counted
    WINDOW of_workload AS (PARTITION BY workload)
)
SELECT
    *,
    sqrt(rate * (1 - rate)) AS spread,
    need * spread / min(spread) FILTER (WHERE need > 0) OVER (PARTITION BY workload) AS effort
FROM rated
