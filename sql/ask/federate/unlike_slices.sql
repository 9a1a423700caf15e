-- description: Warning: slices by tenant or attribute that some of the lakes compute and others do not, which federated_goodput leaves out
-- grain: subject
-- reads: lake_slices, lake_windows
WITH having_it AS (
    SELECT a.slice, l.lake, w.lake IS NOT NULL AS has_it
    FROM (SELECT DISTINCT slice FROM lake_slices) AS a
    CROSS JOIN (SELECT DISTINCT lake FROM lake_windows) AS l
    LEFT JOIN lake_slices AS w ON w.lake = l.lake AND w.slice = a.slice
)
SELECT
    'slice_in_some_lakes' AS kind, 'medium' AS severity, slice AS subject,
    format('slice {} is computed by {} and not by {}. Its sums would be of some lakes alone: federated_goodput leaves it out. '
            || 'Give all lakes the same [slices] by, run, and federate again',
        slice, string_agg(lake, ', ' ORDER BY lake) FILTER (WHERE has_it),
        string_agg(lake, ', ' ORDER BY lake) FILTER (WHERE NOT has_it)) AS message,
    count(*) FILTER (WHERE NOT has_it) AS affected, count(*) AS total
FROM having_it
GROUP BY slice
HAVING NOT bool_and(has_it)
ORDER BY slice
