-- description: Outcomes of each window by workload, from which its accepted requests are estimated
-- grain: slice, name, window_start, workload
-- unit: policy: of labels that nobody drew there is no estimate, so that all that pass every other gate count
-- reads: frontier_windows, workload_rules
SELECT
    slice, name, window_start, workload,
    CASE WHEN any_value(r.unlabelled = 'estimate' AND r.sampling = 'none') THEN 'pass' ELSE coalesce(any_value(r.unlabelled), 'estimate') END
        AS policy,
    sum(accepted)::BIGINT AS accepted, sum(need)::BIGINT AS need, sum(labelled)::BIGINT AS labelled
FROM frontier_windows
LEFT JOIN workload_rules AS r USING (workload)
GROUP BY ALL
