-- description: `kind_windows` with what labels show of each workload in them
-- grain: is_steady, kind, pool, start_s, workload (NULL: no request of the window needs a label)
-- reads: kind_windows, pool_labels
-- unit: all_*: over all windows of the kind, or of steady time, in the pool: labels are few, so they count together
SELECT
    w.*,
    l.* EXCLUDE (pool, start_s),
    sum(l.need) OVER of_workload AS all_need,
    sum(l.labelled) OVER of_workload AS all_labelled,
    sum(l.passed) OVER of_workload AS all_passed,
    coalesce(l.is_sample AND all_labelled > 0, false) AS is_estimated
FROM kind_windows AS w
LEFT JOIN pool_labels AS l ON l.pool = w.pool AND l.start_s = w.start_s
WINDOW of_workload AS (PARTITION BY w.is_steady, w.kind, w.pool, l.workload)
