-- description: Workloads whose labels were not drawn alike in the last 7 measured days: label rates of their models, pools, routes or windows differ beyond chance (p < 0.001)
-- grain: subject
-- reads: recent_windows, workload_rules
WITH cells AS (
    SELECT
        g.*,
        sum(g.labelled) OVER of_workload / sum(g.need_label) OVER of_workload AS label_rate,
        count(*) OVER of_workload - 1 AS df
    FROM recent_windows AS g
    JOIN workload_rules AS w ON w.workload = g.workload AND w.has_quality AND w.unlabelled = 'estimate' AND w.sampling <> 'none'
    WHERE g.slice = 'finest' AND g.need_label > 0
    WINDOW of_workload AS (PARTITION BY g.workload)
),
judged AS (
    SELECT
        workload,
        any_value(df) AS df,
        any_value(label_rate) AS label_rate,
        sum_steady((labelled - need_label * label_rate) ** 2 / (need_label * label_rate * (1 - label_rate))) AS unlike,
        -- the cell that adds the most to it
        arg_max(
            {model: model, pool: pool, route: route, since: window_start, rate: labelled / need_label, need: need_label},
            (labelled - need_label * label_rate) ** 2 / need_label) AS cell,
        sum(labelled) AS labelled, sum(need_label) AS need,
        min(window_start) AS first_at, max(window_start) AS last_at
    FROM cells
    WHERE label_rate > 0 AND label_rate < 1 AND df > 0
    GROUP BY workload
)
SELECT
    'medium' AS severity,
    workload AS subject,
    format('Labels of workload {} were not drawn alike: of model {}, pool {}, route {} in the window from {} UTC {:.1f} % have one, '
            || 'of all {:.1f} %. Estimates are made cell by cell for that; if nobody drew them by chance (thumbs, tickets), '
            || 'set `sampling = "none"` in [workloads.{}.quality]',
        workload, cell.model, cell.pool, cell.route, minute_utc(cell.since), 100 * cell.rate, 100 * label_rate, workload) AS message,
    labelled AS affected,
    need AS total,
    first_at AS first_seen_at,
    last_at AS last_seen_at
FROM judged
-- the 99.9th percentile of chi-square (Wilson and Hilferty 1931)
WHERE unlike > df * (1 - 2 / (9 * df) + 3.090232306167813 * sqrt(2 / (9 * df))) ** 3
