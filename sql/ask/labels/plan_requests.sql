-- description: Requests of the workloads that a plan is asked for, with the labels that count as drawn
-- grain: request_key
-- reads: plan_rules, quality_labels, requests
-- by_plan, by_this_plan: a label names a plan, or the one asked for
WITH planned AS (
    SELECT request_key, bool_or(plan_id = getvariable('plan_id')) AS by_this_plan
    FROM quality_labels
    WHERE plan_id IS NOT NULL AND current
    GROUP BY request_key
)
SELECT
    r.request_key, r.session_id, r.workload, p.unit, p.by_session,
    coalesce(r.model, 'unknown') AS model, coalesce(r.pool, 'unknown') AS pool, coalesce(r.route, 'unknown') AS route,
    r.ended_at,
    r.needs_label,
    CASE WHEN NOT p.undrawn OR l.request_key IS NOT NULL THEN r.pass_quality END AS passed,
    r.pass_quality IS NOT NULL AND passed IS NULL AS is_undrawn,
    l.request_key IS NOT NULL AS by_plan,
    coalesce(l.by_this_plan, false) AS by_this_plan
FROM requests AS r
JOIN plan_rules AS p USING (workload)
LEFT JOIN planned AS l USING (request_key)
WHERE r.verdict <> 'in_flight'
    -- a session ends in the period, wherever its requests do
    AND CASE WHEN p.unit = 'session' THEN r.session_id IS NOT NULL
        ELSE r.ended_at >= getvariable('plan_since') AND r.ended_at < getvariable('plan_until') END
