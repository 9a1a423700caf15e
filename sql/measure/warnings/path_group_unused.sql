-- description: Named groups of path patterns that are no column of what their source declares
-- grain: subject
-- reads: path_groups
SELECT
    'medium' AS severity,
    format('{}: {}', source, path_group) AS subject,
    format('Group {} in the path_pattern of source {} is no column of {}, so what it matches is {}{}. Rename the group',
        path_group, source, source_table,
        CASE WHEN source_table = 'attempts' THEN 'an attribute alone' ELSE 'not used' END,
        coalesce(format(' (nearest: {})', nearest), '')) AS message
FROM path_groups
