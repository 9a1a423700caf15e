-- description: The requests, or whole sessions, that a plan can draw, with how much of each is labelled
-- grain: workload, drawn_as
-- reads: plan_units
-- cell: where requests are drawn by cell; of sessions, which pass through several, none
SELECT
    workload, by_session, drawn_as, turn,
    CASE WHEN NOT by_session THEN {model: model, pool: pool, route: route, part_s: part_s} END AS cell,
    count(*) AS need,
    count(passed) AS labelled,
    need - labelled AS remaining,
    bool_or(by_this_plan) AS by_this_plan
FROM plan_units
WHERE needs_label
GROUP BY ALL
