-- description: A plan by stratum and, where no route is named, by workload: what is labelled, what is to be drawn, and the widths of intervals
-- grain: workload, route, part_start
-- reads: supposed_widths
SELECT
    n.workload, n.route,
    CASE n.slice WHEN 'stratum' THEN make_timestamptz(n.start_s * 1000000) END AS part_start,
    n.need AS need_label, n.labelled, n.width AS width_now, p.drawn::BIGINT AS to_draw, p.width AS expected_width
FROM supposed_widths AS n
JOIN supposed_widths AS p
    ON p.slice = n.slice AND p.start_s = n.start_s AND p.workload = n.workload AND p.route IS NOT DISTINCT FROM n.route
WHERE n.trial = 0 AND p.trial = 1
ORDER BY n.workload, n.route IS NOT NULL, n.route, part_start
