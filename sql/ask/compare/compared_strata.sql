-- description: Counts of each side and slice by workload: labels are sampled workload by workload, so pass rates are estimated there
-- grain: side, dimension, place, workload
-- reads: compared_parts, goodput
-- unit: pass_rate is NULL where labels are no sample (fewer than two, or drawn by nobody) and not of all: then `unjudged` have none
-- unit: weight: share of the workload in what needs a label on both sides, where both have two labels: the mix that qualities are compared at
WITH undrawn AS (
    SELECT DISTINCT workload FROM goodput WHERE slice = 'workload' AND definition = 'unweighted'
),
counted AS (
    SELECT
        side, dimension, place, workload,
        count(*) AS n,
        count(*) FILTER (WHERE needs_label) AS need,
        count(passed) AS labelled,
        count(*) FILTER (WHERE is_accepted) AS accepted,
        count(*) FILTER (WHERE passed) AS passed,
        min(tokens) AS from_tokens, max(tokens) AS to_tokens
    FROM compared_parts
    GROUP BY ALL
),
known AS (
    SELECT *, workload NOT IN (FROM undrawn) AS is_drawn FROM counted
),
shared AS (
    SELECT dimension, place, workload, sum(need) AS need_of_all
    FROM known
    WHERE is_drawn
    GROUP BY ALL
    HAVING count(*) FILTER (WHERE labelled > 1) = 2
)
SELECT
    c.*,
    c.labelled < c.need AND (c.labelled < 2 OR NOT c.is_drawn) AS is_open,
    CASE WHEN NOT is_open THEN ratio(c.passed, c.labelled) END AS pass_rate,
    CASE WHEN is_open THEN c.need - c.labelled ELSE 0 END AS unjudged,
    s.need_of_all,
    s.need_of_all / sum(s.need_of_all) OVER (PARTITION BY c.side, c.dimension, c.place) AS weight
FROM known AS c
LEFT JOIN shared AS s USING (dimension, place, workload)
