-- description: How many labels there would be if a plan took some share of all that it can: of each cell by its effort, or of all alike
-- grain: slice, trial, workload, model, pool, route, part_s
-- reads: plan_cells, plan_draws, plan_trials
-- A cell has two labels at least, as its variance needs two; one that is smaller than its part is taken whole.
WITH totals AS (
    SELECT workload, count(*) AS draws FROM plan_draws WHERE remaining > 0 GROUP BY workload
)
SELECT
    t.slice, t.trial, 0 AS start_s,
    c.*,
    coalesce(ceil(t.share * d.draws), 0) AS draws,
    CASE t.slice
        WHEN 'cell' THEN least(need, greatest(labelled, 2, ceil(t.share * effort)))
        ELSE labelled + (need - labelled) * coalesce(ceil(t.share * d.draws) / d.draws, 0)
    END AS taken
FROM plan_trials AS t
JOIN plan_cells AS c USING (workload)
LEFT JOIN totals AS d USING (workload)
