-- description: Requests that need a label and those that have one, by all that is recorded of where and when they were served
-- grain: window_s, start_s, cut, slice_value, workload, model, pool, route, part_s
-- reads: grains, step_labels
-- unit: part_s: when a part of the window begins, of at most 24 parts and at least five minutes each
SELECT
    window_s,
    at_s // window_s * window_s AS start_s,
    cut, slice_value, workload, model, pool, route,
    window_part(at_s, window_s) AS part_s,
    sum(need)::BIGINT AS need, sum(labelled)::BIGINT AS labelled, sum(passed)::BIGINT AS passed,
    sum(partly_judged)::BIGINT AS partly_judged, sum(known_failed)::BIGINT AS known_failed,
    sum(COLUMNS('_(tokens|squares)$'))
FROM step_labels
CROSS JOIN grains
GROUP BY ALL
