-- description: Answers and those of them that an evaluator judged, by all that is recorded of where and when they were served
-- grain: window_s, start_s, workload, model, evaluator, label, pool, route, part_s
-- reads: answered_requests, grains, judgements, kept_names
-- unit: of rows without a label every cell of the window is there, judged or not
WITH answers AS (
    SELECT
        g.window_s, ended_s // g.window_s * g.window_s AS start_s, window_part(ended_s, g.window_s) AS part_s,
        workload, kept_name(model, n.models) AS model, pool, route, count(*) AS answered
    FROM answered_requests
    CROSS JOIN grains AS g
    LEFT JOIN kept_names AS n ON n.window_s = g.window_s AND n.start_s = ended_s // g.window_s * g.window_s
    GROUP BY ALL
),
counted AS (
    SELECT
        g.window_s, ended_s // g.window_s * g.window_s AS start_s, window_part(ended_s, g.window_s) AS part_s,
        workload, kept_name(model, n.models) AS model, pool, route, evaluator, label,
        count(*) AS judged,
        count(*) FILTER (WHERE passed) AS passed
    FROM judgements
    CROSS JOIN grains AS g
    LEFT JOIN kept_names AS n ON n.window_s = g.window_s AND n.start_s = ended_s // g.window_s * g.window_s
    GROUP BY ALL
),
judges AS (
    SELECT DISTINCT window_s, start_s, workload, model, evaluator FROM counted
)
SELECT
    a.*, j.evaluator, NULL::VARCHAR AS label,
    coalesce(c.judged, 0) AS judged, coalesce(c.passed, 0) AS passed
FROM answers AS a
JOIN judges AS j USING (window_s, start_s, workload, model)
LEFT JOIN counted AS c
    ON c.window_s = a.window_s AND c.start_s = a.start_s AND c.part_s = a.part_s AND c.workload = a.workload AND c.model = a.model
    AND c.pool = a.pool AND c.route = a.route AND c.evaluator IS NOT DISTINCT FROM j.evaluator AND c.label IS NULL
UNION ALL BY NAME
SELECT c.*, a.answered
FROM counted AS c
JOIN answers AS a USING (window_s, start_s, part_s, workload, model, pool, route)
WHERE c.label IS NOT NULL
