-- description: Of each workload where its labels come from, and which keys of this plan were passed over when later ones were judged
-- grain: workload
-- reads: plan_draws, plan_rules, plan_units
WITH turns AS (
    -- within each cell the turns of a plan come in order, whether cells are told apart or not
    SELECT workload, remaining, turn, max(turn) FILTER (WHERE by_this_plan) OVER (PARTITION BY workload, cell) AS last_turn
    FROM plan_draws
),
passed_over AS (
    SELECT workload, coalesce(sum(remaining) FILTER (WHERE turn < last_turn), 0)::BIGINT AS passed_over FROM turns GROUP BY workload
),
counted AS (
    SELECT
        workload,
        count(passed) AS labelled,
        count(passed) FILTER (WHERE by_plan) AS by_plan,
        count(passed) FILTER (WHERE by_this_plan) AS by_this_plan,
        count(*) FILTER (WHERE is_undrawn) AS undrawn
    FROM plan_units
    WHERE needs_label
    GROUP BY workload
)
SELECT r.workload, r.unit, r.unlabelled, r.sampling, r.by_session, c.* EXCLUDE (workload), p.passed_over
FROM plan_rules AS r
JOIN counted AS c USING (workload)
JOIN passed_over AS p USING (workload)
ORDER BY workload
