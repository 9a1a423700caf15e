-- description: The cells that a plan can tell apart, what is known of each, and the pass rate that it counts on (docs/semantics.md#a-sampling-plan)
-- grain: workload, model, pool, route, part_s
-- reads: plan_units
-- rate: of the labels, as if there were z^2 more that pass like the workload's; the workload's as if z^2 more passed by half
-- sure_rate: as far towards one half as the workload's labels leave room for in 19 cases of 20: widths are planned with it
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
),
-- a session that is judged whole is one draw
drawn AS (
    SELECT workload, count(DISTINCT drawn_as) AS draws, ratio(count(*) FILTER (WHERE passed), count(*)) AS pass_rate
    FROM plan_units
    WHERE needs_label AND passed IS NOT NULL
    GROUP BY workload
),
ends AS (
    SELECT workload, wilson(pass_rate, draws, z := 1.6448536269514722) AS within FROM drawn
)
SELECT
    r.*,
    -- how far the workload's rate lies beyond the end of its interval that is nearest to one half
    abs(workload_rate - 0.5) - coalesce(greatest(within.low - 0.5, 0.5 - within.high, 0), 0) AS room,
    0.5 + sign(rate - 0.5) * greatest(0, abs(rate - 0.5) - room) AS sure_rate,
    sqrt(rate * (1 - rate)) AS spread,
    need * spread / min(spread) FILTER (WHERE need > 0) OVER (PARTITION BY workload) AS effort
FROM rated AS r
LEFT JOIN ends USING (workload)
