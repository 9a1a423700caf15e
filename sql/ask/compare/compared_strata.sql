-- description: Counts of each side and slice by workload: labels are sampled workload by workload, so pass rates are estimated there
-- grain: side, dimension, place, workload
-- reads: compared_parts
-- unit: pass_rate is NULL where some have no label and fewer than two have one: then `unjudged` is what nobody judged
-- unit: weight: share of the workload in what needs a label on both sides, where both have two labels: the mix that qualities are compared at
WITH counted AS (
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
shared AS (
    SELECT dimension, place, workload, sum(need) AS need_of_all
    FROM counted
    GROUP BY ALL
    HAVING count(*) FILTER (WHERE labelled > 1) = (SELECT count(DISTINCT side) FROM counted)
)
SELECT
    c.*,
    CASE WHEN c.labelled > 1 OR c.labelled = c.need THEN ratio(c.passed, c.labelled) END AS pass_rate,
    CASE WHEN c.labelled < 2 THEN c.need - c.labelled ELSE 0 END AS unjudged,
    s.need_of_all,
    s.need_of_all / sum(s.need_of_all) OVER (PARTITION BY c.side, c.dimension, c.place) AS weight
FROM counted AS c
LEFT JOIN shared AS s USING (dimension, place, workload)
