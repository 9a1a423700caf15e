-- description: Workloads whose quality gate no judged answer of the last 7 measured days passed
-- grain: subject
-- reads: recent_windows
-- Fewer than 20 may be chance.
SELECT
    'high' AS severity,
    workload AS subject,
    format('None of {:,} judged answer(s) of workload {} passes its quality gate. Compare `min_score` and `pass_labels` with the '
            || 'scores and labels that arrive: goodput query "from quality_labels limit 20"',
        sum(quality_judged)::BIGINT, workload) AS message,
    sum(quality_judged) AS affected,
    sum(quality_judged) AS total,
    min(window_start) AS first_seen_at,
    max(window_start) AS last_seen_at
FROM recent_windows
WHERE slice = 'workload' AND quality_judged > 0
GROUP BY workload
HAVING sum(quality_judged) >= 20 AND max(quality_pass_ratio) = 0
