-- description: Outcomes of each window by workload, from which its accepted requests are estimated
-- grain: slice, name, window_start, workload
-- reads: frontier_windows, workload_rules
SELECT
    slice, name, window_start, workload,
    coalesce(any_value(r.unlabelled), 'estimate') AS policy,
    sum(accepted)::BIGINT AS accepted, sum(need)::BIGINT AS need, sum(labelled)::BIGINT AS labelled
FROM frontier_windows
LEFT JOIN workload_rules AS r USING (workload)
GROUP BY ALL
