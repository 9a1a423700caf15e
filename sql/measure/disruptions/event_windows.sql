-- description: Base windows of each event's disruption and of its baseline, with what labels show of each workload in them
-- grain: event_id, is_baseline, start_s, workload (NULL: no request of the window needs a label)
-- reads: disrupted_windows, disrupting_events, disruption_baselines, pool_labels
-- unit: all_*: over all windows of the disruption, or of the baseline: labels are few, so they count together
WITH windows AS (
    SELECT event_id, false AS is_baseline, start_s, offered, accepted, cost_usd FROM disrupted_windows
    UNION ALL
    SELECT event_id, true, start_s, offered, accepted, cost_usd FROM disruption_baselines
)
SELECT
    w.*, l.* EXCLUDE (pool, start_s),
    sum(l.need) OVER of_workload AS all_need,
    sum(l.labelled) OVER of_workload AS all_labelled,
    sum(l.passed) OVER of_workload AS all_passed,
    coalesce(l.is_sample AND all_labelled > 0, false) AS is_estimated
FROM windows AS w
JOIN disrupting_events AS e USING (event_id)
LEFT JOIN pool_labels AS l ON l.pool IS NOT DISTINCT FROM e.pool AND l.start_s = w.start_s
WINDOW of_workload AS (PARTITION BY w.event_id, w.is_baseline, l.workload)
