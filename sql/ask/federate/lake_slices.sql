-- description: Slices by tenant or attribute that each lake computes: by its settings, or by what an older version has published
-- grain: lake, slice
-- reads: goodput, settings
SELECT DISTINCT lake, slice FROM goodput WHERE slice_value IS NOT NULL AND lake NOT IN (SELECT lake FROM settings)
UNION ALL
SELECT lake, unnest(string_split(value, ', ')) AS slice FROM settings WHERE setting = 'slices.by' AND value <> ''
