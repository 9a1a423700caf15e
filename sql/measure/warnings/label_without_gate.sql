-- description: Labels of requests in the last 7 measured days whose workload has no quality gate
-- grain: subject
-- reads: recent_judgements, workload_rules
SELECT
    'medium' AS severity,
    j.workload AS subject,
    format('{:,} label(s) of {} judge requests of {}: they decide nothing. {}',
        sum(j.labels)::BIGINT,
        some_of(list(j.evaluator ORDER BY j.evaluator)),
        CASE WHEN any_value(w.workload) IS NULL THEN 'no workload' ELSE format('workload {}, which has no quality gate', j.workload) END,
        CASE WHEN any_value(w.workload) IS NULL THEN 'Let the `match` of a workload select them'
            ELSE format('Add [workloads.{}.quality] if they are meant to', j.workload) END) AS message,
    sum(j.labels) AS affected,
    min(j.first_at) AS first_seen_at,
    max(j.last_at) AS last_seen_at
FROM recent_judgements AS j
LEFT JOIN workload_rules AS w USING (workload)
WHERE NOT coalesce(w.has_quality, false)
GROUP BY j.workload
