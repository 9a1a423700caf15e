-- description: Lengths of windows, and slices by tenant or attribute, that each lake computes: by its settings, or by what an older version has published
-- grain: lake, setting, value
-- reads: goodput, settings
WITH published AS (SELECT * FROM goodput WHERE lake NOT IN (SELECT lake FROM settings))
SELECT DISTINCT lake, 'windows_s' AS setting, window_s::VARCHAR AS value FROM published
UNION ALL
SELECT DISTINCT lake, 'slices.by', slice FROM published WHERE slice_value IS NOT NULL
UNION ALL
SELECT lake, setting, unnest(string_split(value, ', '))
FROM settings
WHERE setting IN ('windows_s', 'slices.by') AND value <> ''
