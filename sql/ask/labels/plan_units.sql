-- description: What counts towards goodput and ended in the period of a plan, requests or sessions, and when it is its turn to be drawn
-- grain: workload, unit_key
-- reads: plan_requests
-- drawn_as: the request or session that is drawn; turn: its place in a random order that the seed gives
-- unit: part_s: when the part of the period begins, in Unix seconds
WITH units AS (
    SELECT
        workload, request_key AS unit_key, by_session, session_id,
        CASE WHEN by_session THEN coalesce(session_id, request_key) ELSE request_key END AS drawn_as,
        model, pool, route, ended_at, needs_label, passed, is_undrawn, by_plan, by_this_plan
    FROM plan_requests
    WHERE unit = 'request'
    UNION ALL BY NAME
    SELECT
        workload, session_id AS unit_key, by_session, NULL AS session_id, session_id AS drawn_as,
        arg_max(model, (ended_at, request_key)) AS model,
        arg_max(pool, (ended_at, request_key)) AS pool,
        arg_max(route, (ended_at, request_key)) AS route,
        max(ended_at) AS ended_at,
        bool_and(needs_label) AS needs_label,
        CASE WHEN bool_or(NOT passed) THEN false WHEN count(passed) = count(*) THEN true END AS passed,
        bool_or(is_undrawn) AS is_undrawn, bool_or(by_plan) AS by_plan, bool_or(by_this_plan) AS by_this_plan
    FROM plan_requests
    WHERE unit = 'session'
    GROUP BY ALL
)
SELECT
    * EXCLUDE (ended_at),
    epoch_us(ended_at) // 1000000 // getvariable('plan_part_s') * getvariable('plan_part_s') AS part_s,
    md5(getvariable('plan_seed') || '/' || workload || '/' || drawn_as) AS turn
FROM units
WHERE ended_at >= getvariable('plan_since') AND ended_at < getvariable('plan_until')
