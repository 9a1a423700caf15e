-- description: Accepted requests of each base window of a disruption or baseline, by the labels of all of its windows together
-- grain: event_id, is_baseline, start_s
-- reads: event_windows
-- unit: accepted: adds up to the estimate, and varies from window to window as far as its own labels show (Woodruff 1971)
SELECT
    event_id, is_baseline, start_s,
    any_value(arrivals) AS arrivals, any_value(whole) AS whole,
    any_value(offered) AS offered, any_value(weight) AS weight,
    any_value(cost_usd) AS cost_usd, any_value(is_unmatched) AS is_unmatched,
    any_value(accepted) + coalesce(sum(
        accepted_together(is_estimated, must_pass, need, labelled, passed, all_need, all_labelled, all_passed) - passed
        ORDER BY workload), 0) AS accepted
FROM event_windows
GROUP BY event_id, is_baseline, start_s
