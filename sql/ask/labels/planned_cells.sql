-- description: Labels of each cell as they are (trial 0) and as they will be once what was drawn is judged (trial 1)
-- grain: slice, trial, start_s, workload, model, pool, route, part_s
-- reads: drawn_units, plan_cells, trial_cells
WITH drawn AS (
    SELECT workload, model, pool, route, part_s, count(*) AS drawn FROM drawn_units GROUP BY ALL
),
taken AS (
    SELECT t.trial, c.*, CASE t.trial WHEN 0 THEN c.labelled ELSE c.labelled + coalesce(d.drawn, 0) END AS taken
    FROM plan_cells AS c
    CROSS JOIN (SELECT unnest([0, 1]) AS trial) AS t
    LEFT JOIN drawn AS d USING (workload, model, pool, route, part_s)
),
chosen AS (
    SELECT DISTINCT workload, slice FROM trial_cells
)
SELECT c.slice, 0 AS start_s, t.* FROM taken AS t JOIN chosen AS c USING (workload)
UNION ALL BY NAME
SELECT 'stratum' AS slice, part_s AS start_s, t.* FROM taken AS t JOIN chosen AS c USING (workload) WHERE c.slice = 'cell'
