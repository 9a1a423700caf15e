-- description: Cells of each side, slice and workload: where label rates differ, each with labels of two draws or more is a stratum of its own
-- grain: side, dimension, place, workload, cell
-- reads: compared_parts
-- unit: stratum is NULL for the cells that are one stratum together; requests_per_draw where label rates differ
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
sessions AS (
    SELECT side, workload, session_id, count(*) AS need, count(passed) AS labelled, count(*) FILTER (WHERE passed) AS passed
    FROM compared_parts
    WHERE dimension = 'all' AND needs_label AND session_id IS NOT NULL
    GROUP BY ALL
    HAVING count(*) > 1
),
paired AS (
    SELECT side, workload, unnest(pairs_in_sessions(need, labelled, passed)) FROM sessions GROUP BY side, workload
),
-- whether they differ shows best in the whole
tested AS (
    SELECT
        side, workload,
        rates_unlike(sum(labelled ** 2 / need), sum(labelled), sum(need)) AS unlike,
        count(*) - 1 AS df,
        sum(need) AS need, sum(labelled) AS labelled
    FROM counted
    WHERE dimension = 'all' AND need > 0
    GROUP BY side, workload
),
uneven AS (
    SELECT
        side, workload,
        -- of a comparison the labels show how they were drawn
        requests_per_draw(NULL, t.need, t.labelled, p.pairs, p.labelled_pairs, p.half_labelled_pairs) AS requests_per_draw
    FROM tested AS t
    LEFT JOIN paired AS p USING (side, workload)
    WHERE rates_differ(t.unlike, t.df, requests_per_draw)
),
-- cells of too few draws are one stratum together, if need be with the cell whose label rate is nearest to theirs
ranked AS (
    SELECT
        c.*, u.requests_per_draw,
        c.labelled < 2 * u.requests_per_draw AS is_few,
        sum(c.labelled) FILTER (WHERE is_few) OVER of_workload AS left_over,
        row_number() OVER (of_workload ORDER BY is_few, c.labelled / c.need, c.cell) AS place_by_rate
    FROM counted AS c
    LEFT JOIN uneven AS u USING (side, workload)
    WINDOW of_workload AS (PARTITION BY c.side, c.dimension, c.place, c.workload)
)
SELECT
    * EXCLUDE (is_few, left_over, place_by_rate),
    CASE WHEN NOT is_few AND NOT (coalesce(left_over < 2 * requests_per_draw, false) AND place_by_rate = 1) THEN cell END AS stratum
FROM ranked
