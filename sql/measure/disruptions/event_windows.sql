-- description: Base windows of each event's disruption and of those that price it, with what labels show of each workload in them
-- grain: event_id, is_baseline, start_s, workload (NULL: no request of the window needs a label)
-- reads: baseline_prices, disrupted_windows, disrupting_events, pool_labels, priced_baselines
-- unit: cost_usd: at the price of the disruption, NULL where that cannot be told (is_unmatched); all_*: over all windows of the disruption, or of its baseline: labels are few, so they count together
WITH windows AS (
    SELECT event_id, false AS is_baseline, start_s, NULL AS weight, arrivals, whole, offered, accepted, cost_usd::DOUBLE AS cost_usd, false AS is_unmatched
    FROM disrupted_windows
    UNION ALL
    SELECT
        b.event_id, true, b.start_s, b.weight, b.arrivals, true, b.offered, b.accepted,
        b.cost_usd::DOUBLE + CASE WHEN p.event_id IS NULL THEN 0 ELSE p.usd END,
        b.cost_usd IS NOT NULL AND p.event_id IS NOT NULL AND p.usd IS NULL
    FROM priced_baselines AS b
    LEFT JOIN baseline_prices AS p ON p.event_id = b.event_id AND p.start_s = b.start_s
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
