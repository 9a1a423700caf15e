-- description: The requests to judge, in the order of the draw, each with how many requests that need a label stand for one that has it
-- grain: request_key
-- reads: drawn_units, plan_requests, planned_cells
-- unit: weight: requests needing a label / labelled ones and drawn ones, in the stratum; sessions where a workload counts these
WITH weighed AS (
    SELECT *, CASE slice WHEN 'cell' THEN {model: model, pool: pool, route: route, part_s: part_s} END AS cell
    FROM planned_cells
    WHERE trial = 1 AND slice <> 'stratum'
),
weights AS (
    SELECT workload, slice, cell, ratio(sum(need), sum(taken)) AS weight FROM weighed GROUP BY ALL
)
SELECT
    getvariable('plan_id') AS plan_id,
    r.request_key, r.workload,
    r.route, make_timestamptz(u.part_s * 1000000) AS part_start,
    CASE WHEN r.by_session THEN r.session_id END AS session_id,
    w.weight
FROM drawn_units AS u
JOIN plan_requests AS r
    ON r.workload = u.workload
    AND CASE r.unit WHEN 'session' THEN r.session_id = u.unit_key ELSE r.request_key = u.unit_key END
    AND r.passed IS NULL
JOIN weights AS w
    ON w.workload = u.workload
    AND (w.slice = 'whole' OR w.cell = {model: u.model, pool: u.pool, route: u.route, part_s: u.part_s})
ORDER BY r.workload, u.turn, r.request_key
