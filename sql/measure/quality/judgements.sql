-- description: What evaluators say of delivered answers, once for all labels of an evaluator and once for each
-- grain: request_key, evaluator (NULL: the quality gate), label (NULL: all)
-- reads: answered_requests, quality_labels
SELECT
    * EXCLUDE (request_key, ended_at, pass_quality),
    NULL::VARCHAR AS evaluator, NULL::VARCHAR AS label, pass_quality AS passed
FROM answered_requests
WHERE pass_quality IS NOT NULL
UNION ALL
SELECT a.* EXCLUDE (request_key, ended_at, pass_quality), l.evaluator, CASE WHEN by_label THEN l.label END, l.passed
FROM answered_requests AS a
-- a key may name another request in another hour
JOIN quality_labels AS l ON l.request_key = a.request_key AND l.request_at = a.ended_at
CROSS JOIN (VALUES (false), (true)) AS cuts(by_label)
WHERE l.current AND l.passed IS NOT NULL AND (l.label IS NOT NULL OR NOT by_label)
