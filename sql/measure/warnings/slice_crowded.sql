-- description: Slices with more values than the settings keep in one of the longest windows of the last 7 measured days
-- grain: subject
-- reads: recent_windows
SELECT
    'low' AS severity,
    slice AS subject,
    format('Slice {} has more values than slices.max_values: in the latest window with so many, {:,} of {:,} request(s) are in (other). '
        'Raise slices.max_values, or slice by what has fewer values', slice,
        arg_max(others, window_start)::BIGINT, arg_max(offered, window_start)::BIGINT) AS message,
    arg_max(others, window_start) AS affected,
    arg_max(offered, window_start) AS total,
    min(window_start) AS first_seen_at,
    max(window_start) AS last_seen_at
FROM (
    SELECT slice, window_start, sum(offered) AS offered, sum(offered) FILTER (WHERE slice_value = '(other)') AS others
    FROM recent_windows
    WHERE slice_value IS NOT NULL
    GROUP BY ALL
    HAVING others IS NOT NULL
)
GROUP BY slice
