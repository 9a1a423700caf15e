-- description: Workloads of the latest published day (else the longest window) that have no quality gate beside some that have one, in one line with their share
-- grain: one row at most
-- reads: goodput, latest_window
WITH ungated AS (
    SELECT list_sort(list(workload)) AS workloads
    FROM goodput
    JOIN latest_window USING (window_s, window_start)
    WHERE slice = 'workload' AND quality_gated_ratio = 0
)
SELECT
    format('No quality gate judges {:.1f} % of the requests that pass every other gate (workload {}{}): goodput counts them by '
            || 'success and latency alone',
        100 * (1 - quality_gated_ratio),
        array_to_string(workloads[:5], ', '),
        CASE WHEN len(workloads) > 5 THEN format(' and {} more', len(workloads) - 5) ELSE '' END) AS line
FROM goodput
JOIN latest_window USING (window_s, window_start)
CROSS JOIN ungated
WHERE slice = 'overall' AND quality_gated_ratio > 0 AND quality_gated_ratio < 1
