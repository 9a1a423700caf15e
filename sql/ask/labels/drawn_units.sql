-- description: The requests or sessions that are drawn: the first by turn of each cell, or of the workload
-- grain: workload, unit_key
-- reads: plan_draws, plan_units, trial_cells
WITH ranked AS (
    SELECT
        d.workload, d.drawn_as, d.turn, c.slice, d.cell,
        -- a session that is judged in part was drawn before: the rest of it comes first
        row_number() OVER (
            PARTITION BY d.workload, CASE c.slice WHEN 'cell' THEN d.cell END ORDER BY d.labelled > 0 DESC, d.turn, d.drawn_as
        ) AS place
    FROM plan_draws AS d
    JOIN (SELECT DISTINCT workload, slice FROM trial_cells) AS c USING (workload)
    WHERE d.remaining > 0
),
drawn AS (
    SELECT DISTINCT r.workload, r.drawn_as, r.place
    FROM ranked AS r
    JOIN trial_cells AS c
        ON c.workload = r.workload
        AND CASE c.slice
            WHEN 'cell' THEN r.cell = {model: c.model, pool: c.pool, route: c.route, part_s: c.part_s} AND r.place <= c.taken - c.labelled
            ELSE r.place <= c.draws
        END
)
SELECT u.*
FROM plan_units AS u
JOIN drawn AS d USING (workload, drawn_as)
WHERE u.needs_label AND u.passed IS NULL
