-- description: Counts of each side and slice by workload, and by cell where label rates differ: pass rates are estimated there
-- grain: side, dimension, place, workload, stratum
-- reads: compared_cells, goodput
-- unit: pass_rate is NULL where labels are no sample (fewer than two, or drawn by nobody) and not of all: then `unjudged` have none
-- unit: mixed: requests that need a label on both sides, of workloads with two labels on both: the mix that qualities are compared at
WITH undrawn AS (
    SELECT DISTINCT workload FROM goodput WHERE slice = 'workload' AND definition = 'unweighted'
),
counted AS (
    SELECT
        side, dimension, place, workload, stratum,
        sum(n)::BIGINT AS n,
        sum(need)::BIGINT AS need,
        sum(labelled)::BIGINT AS labelled,
        sum(accepted)::BIGINT AS accepted,
        sum(passed)::BIGINT AS passed,
        any_value(requests_per_draw) AS requests_per_draw,
        min(from_tokens) AS from_tokens, max(to_tokens) AS to_tokens
    FROM compared_cells
    GROUP BY ALL
),
known AS (
    SELECT *, workload NOT IN (FROM undrawn) AS is_drawn FROM counted
),
rated AS (
    SELECT
        *,
        labelled < need AND (labelled < 2 OR NOT is_drawn) AS is_open,
        CASE WHEN NOT is_open THEN ratio(passed, labelled) END AS pass_rate,
        CASE WHEN is_open THEN need - labelled ELSE 0 END AS unjudged
    FROM known
),
shared AS (
    SELECT dimension, place, workload, sum(need) AS need_of_all
    FROM (
        SELECT side, dimension, place, workload, sum(need) AS need
        FROM rated
        WHERE is_drawn
        GROUP BY ALL
        HAVING coalesce(sum(labelled) FILTER (WHERE pass_rate IS NOT NULL), 0) > 1
    )
    GROUP BY ALL
    HAVING count(*) = 2
),
mixed AS (
    SELECT
        r.*,
        CASE WHEN r.pass_rate IS NOT NULL THEN s.need_of_all * r.need
            / sum(r.need) FILTER (WHERE r.pass_rate IS NOT NULL) OVER (PARTITION BY r.side, r.dimension, r.place, r.workload) END AS mixed
    FROM rated AS r
    LEFT JOIN shared AS s USING (dimension, place, workload)
)
SELECT
    *,
    mixed / sum(mixed) OVER (PARTITION BY side, dimension, place) AS weight,
    CASE WHEN stratum IS NULL AND count(*) OVER of_workload = 1 THEN pass_rate
        ELSE sum(mixed * pass_rate) OVER of_workload / sum(mixed) OVER of_workload END AS workload_rate,
    -- residuals about a cell's own rate are too small, as that was taken from the same few labels
    CASE WHEN stratum IS NOT NULL THEN sqrt(labelled / (labelled - requests_per_draw)) ELSE 1 END AS few
FROM mixed
WINDOW of_workload AS (PARTITION BY side, dimension, place, workload)
