-- description: Cells of each side, slice and workload: where label rates differ, each with two labels or more is a stratum of its own
-- grain: side, dimension, place, workload, cell
-- reads: compared_parts
-- unit: stratum is NULL for the cells that are one stratum together
WITH counted AS (
    SELECT
        side, dimension, place, workload, cell,
        count(*) AS n,
        count(*) FILTER (WHERE needs_label) AS need,
        count(passed) AS labelled,
        count(*) FILTER (WHERE is_accepted) AS accepted,
        count(*) FILTER (WHERE passed) AS passed,
        min(tokens) AS from_tokens, max(tokens) AS to_tokens
    FROM compared_parts
    GROUP BY ALL
),
-- whether they differ shows best in the whole
uneven AS (
    SELECT side, workload
    FROM counted
    WHERE dimension = 'all' AND need > 0
    GROUP BY side, workload
    HAVING rates_differ(rates_unlike(sum(labelled ** 2 / need), sum(labelled), sum(need)), count(*) - 1)
),
-- cells of too few labels are one stratum together, if need be with the cell whose label rate is nearest to theirs
ranked AS (
    SELECT
        *,
        sum(labelled) FILTER (WHERE labelled < 2) OVER of_workload AS left_over,
        row_number() OVER (of_workload ORDER BY labelled < 2, labelled / need, cell) AS place_by_rate
    FROM counted
    WINDOW of_workload AS (PARTITION BY side, dimension, place, workload)
)
SELECT
    r.* EXCLUDE (left_over, place_by_rate),
    CASE WHEN u.side IS NOT NULL AND r.labelled > 1 AND NOT (coalesce(r.left_over < 2, false) AND r.place_by_rate = 1)
        THEN r.cell END AS stratum
FROM ranked AS r
LEFT JOIN uneven AS u USING (side, workload)
