-- description: Counts of each side by workload: labels are sampled workload by workload, so pass rates are estimated there
-- grain: side, workload
-- reads: compared_requests
SELECT
    side, workload,
    count(*) AS n,
    count(*) FILTER (WHERE needs_label) AS need,
    count(passed) AS labelled,
    count(*) FILTER (WHERE is_accepted) AS accepted,
    ratio(count(*) FILTER (WHERE passed), count(passed)) AS pass_rate
FROM compared_requests
GROUP BY ALL
