-- description: Workloads of which every judged answer of the last 7 measured days passed its quality gate
-- grain: subject
-- reads: recent_windows
-- 300 that pass show a pass rate above 0.99; a judge whose words or scores are read wrongly shows the same.
SELECT
    'low' AS severity,
    workload AS subject,
    format('All of {:,} judged answer(s) of workload {} pass its quality gate. Compare `min_score` and `pass_labels` with the '
            || 'scores and labels that arrive: goodput query "from quality_labels limit 20"',
        sum(quality_judged)::BIGINT, workload) AS message,
    sum(quality_judged) AS affected,
    sum(quality_judged) AS total,
    min(window_start) AS first_seen_at,
    max(window_start) AS last_seen_at
FROM recent_windows
WHERE slice = 'workload' AND quality_judged > 0
GROUP BY workload
HAVING sum(quality_judged) >= 300 AND min(quality_pass_ratio) = 1
