-- description: Labels of requests in the last 7 measured days by workload and evaluator, withdrawn and revised ones left out
-- grain: workload, evaluator
-- reads: quality_labels
-- only the hours of these days are loaded
SELECT workload, evaluator, count(*) AS labels, min(labelled_at) AS first_at, max(labelled_at) AS last_at
FROM quality_labels
WHERE current AND workload IS NOT NULL
GROUP BY workload, evaluator
