-- description: Warning: lengths of windows that some of the lakes compute and others do not, which federated_goodput leaves out
-- grain: subject
-- reads: lake_windows
WITH having_it AS (
    SELECT a.window_s, l.lake, w.lake IS NOT NULL AS has_it
    FROM (SELECT DISTINCT window_s FROM lake_windows) AS a
    CROSS JOIN (SELECT DISTINCT lake FROM lake_windows) AS l
    LEFT JOIN lake_windows AS w ON w.lake = l.lake AND w.window_s = a.window_s
)
SELECT
    'window_in_some_lakes' AS kind, 'medium' AS severity, window_s::VARCHAR AS subject,
    format('windows of {} s are computed by {} and not by {}. Their sums would be of some lakes alone: federated_goodput leaves '
            || 'them out. Give all lakes the same windows_s, run, and federate again',
        window_s, string_agg(lake, ', ' ORDER BY lake) FILTER (WHERE has_it),
        string_agg(lake, ', ' ORDER BY lake) FILTER (WHERE NOT has_it)) AS message,
    count(*) FILTER (WHERE NOT has_it) AS affected, count(*) AS total
FROM having_it
GROUP BY window_s
HAVING NOT bool_and(has_it)
ORDER BY window_s
