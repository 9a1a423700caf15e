-- description: Warning: lengths of windows, and slices by tenant or attribute, that only some of the lakes compute; federated_goodput leaves them out
-- grain: kind, subject
-- reads: lake_groupings
WITH computed AS (
    SELECT g.setting, g.value, l.lake, o.lake IS NOT NULL AS here
    FROM (SELECT DISTINCT setting, value FROM lake_groupings) AS g
    CROSS JOIN (SELECT DISTINCT lake FROM lake_groupings) AS l
    LEFT JOIN lake_groupings AS o ON o.lake = l.lake AND o.setting = g.setting AND o.value = g.value
)
SELECT
    CASE setting WHEN 'windows_s' THEN 'window_in_some_lakes' ELSE 'slice_in_some_lakes' END AS kind,
    'medium' AS severity, value AS subject,
    format('{} by {} and not by {}. {}. Give all lakes the same {}, run, and federate again',
        CASE setting WHEN 'windows_s' THEN format('windows of {} s are computed', value) ELSE format('slice {} is computed', value) END,
        string_agg(lake, ', ' ORDER BY lake) FILTER (WHERE here),
        string_agg(lake, ', ' ORDER BY lake) FILTER (WHERE NOT here),
        CASE setting
            WHEN 'windows_s' THEN 'Their sums would be of some lakes alone: federated_goodput leaves them out'
            ELSE 'Its sums would be of some lakes alone: federated_goodput leaves it out'
        END,
        CASE setting WHEN 'windows_s' THEN 'windows_s' ELSE '[slices] by' END) AS message,
    count(*) FILTER (WHERE NOT here) AS affected, count(*) AS total
FROM computed
GROUP BY setting, value
HAVING NOT bool_and(here)
ORDER BY setting DESC, try_cast(value AS INTEGER), value
