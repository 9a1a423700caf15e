-- description: Slices with more values, and columns with more names, than the settings keep in one of the longest windows of the last 7 measured days
-- grain: subject
-- reads: recent_windows, slice_cuts, slice_options, slices
-- Of slices of the same values, within workloads and not, one has to say it.
WITH valued AS (
    SELECT slice FROM slices WHERE cut > 0 QUALIFY row_number() OVER (PARTITION BY cut ORDER BY by_workload) = 1
),
counted AS (
    SELECT slice, slice_value AS name, window_start, offered, false AS is_name FROM recent_windows JOIN valued USING (slice)
    UNION ALL
    SELECT 'model', model, window_start, offered, true FROM recent_windows WHERE slice = 'model'
    UNION ALL
    SELECT 'pool', pool, window_start, offered, true FROM recent_windows WHERE slice = 'pool'
    UNION ALL
    SELECT 'route', route, window_start, offered, true FROM recent_windows WHERE slice = 'workload_route'
),
crowded AS (
    SELECT
        slice AS subject, is_name, window_start,
        sum(offered) AS offered, sum(offered) FILTER (WHERE name = '(other)') AS others,
        -- telemetry may itself call something (other): a crowded window keeps as many more as it may
        count(DISTINCT name) FILTER (WHERE name NOT IN ('unknown', '(other)')) AS kept
    FROM counted
    GROUP BY ALL
    HAVING others IS NOT NULL
        AND kept >= CASE WHEN is_name THEN (SELECT max_names FROM slice_options) ELSE (SELECT max(max_values) FROM slice_cuts) END
)
SELECT
    'low' AS severity,
    subject,
    format(
        CASE WHEN is_name
            THEN 'Column {} has more names than slices.max_names: in the latest window with so many, {:,} of {:,} request(s) are in (other). '
                'Have emitters report names without ids of their own, or raise slices.max_names'
            ELSE 'Slice {} has more values than slices.max_values: in the latest window with so many, {:,} of {:,} request(s) are in (other). '
                'Raise slices.max_values, or slice by what has fewer values'
        END,
        subject, arg_max(others, window_start)::BIGINT, arg_max(offered, window_start)::BIGINT) AS message,
    arg_max(others, window_start) AS affected,
    arg_max(offered, window_start) AS total,
    min(window_start) AS first_seen_at,
    max(window_start) AS last_seen_at
FROM crowded
GROUP BY subject, is_name
