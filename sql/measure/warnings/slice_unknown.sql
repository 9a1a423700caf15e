-- description: Slices by tenant or attribute of which no request of the last 7 measured days has a value
-- grain: subject
-- reads: recent_windows, slices
-- Of slices of the same values, within workloads and not, one has to say it.
WITH valued AS (
    SELECT slice FROM slices WHERE cut > 0 QUALIFY row_number() OVER (PARTITION BY cut ORDER BY by_workload) = 1
)
SELECT
    'medium' AS severity,
    slice AS subject,
    format('No request has a value of slice {}: all {:,} are `unknown` in it. Correct the name in slices.by, or let telemetry carry it',
        slice, sum(offered)::BIGINT) AS message,
    sum(offered) AS affected,
    sum(offered) AS total,
    min(window_start) AS first_seen_at,
    max(window_start) AS last_seen_at
FROM recent_windows
JOIN valued USING (slice)
GROUP BY slice
HAVING bool_and(slice_value = 'unknown') AND sum(offered) > 0
