-- description: Accepted requests of each window of a kind of operation, or of steady time, by the labels of all of its windows together
-- grain: is_steady, kind, pool, start_s
-- reads: kind_labels
SELECT
    is_steady, kind, stretch, disruption, pool, start_s,
    any_value(arrivals) AS arrivals, any_value(whole) AS whole,
    any_value(offered) AS offered,
    any_value(cost_usd)::DOUBLE AS cost_usd,
    any_value(accepted) + coalesce(sum(
        accepted_together(is_estimated, must_pass, need, labelled, passed, all_need, all_labelled, all_passed) - passed
        ORDER BY workload), 0) AS accepted
FROM kind_labels
GROUP BY ALL
