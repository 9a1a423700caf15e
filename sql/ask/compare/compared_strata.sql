-- description: Counts of each side by workload: labels are sampled workload by workload, so pass rates are estimated there
-- grain: side, workload
-- reads: compared_requests
-- unit: weight: share of the workload in what needs a label on all sides, where all of them have labels: the mix that qualities are compared at
WITH counted AS (
    SELECT
        side, workload,
        count(*) AS n,
        count(*) FILTER (WHERE needs_label) AS need,
        count(passed) AS labelled,
        count(*) FILTER (WHERE is_accepted) AS accepted,
        ratio(count(*) FILTER (WHERE passed), count(passed)) AS pass_rate
    FROM compared_requests
    GROUP BY ALL
),
shared AS (
    SELECT workload, sum(need) AS need_of_all
    FROM counted
    GROUP BY workload
    HAVING count(*) FILTER (WHERE labelled > 0) = (SELECT count(DISTINCT side) FROM counted)
)
SELECT
    c.*,
    s.need_of_all / sum(s.need_of_all) OVER (PARTITION BY c.side) AS weight
FROM counted AS c
LEFT JOIN shared AS s USING (workload)
