-- description: Lengths of windows that each lake computes: by its settings, or by what an older version has published
-- grain: lake, window_s
-- reads: goodput, settings
SELECT DISTINCT lake, window_s FROM goodput WHERE lake NOT IN (SELECT lake FROM settings)
UNION ALL
SELECT lake, unnest(string_split(value, ', '))::INTEGER AS window_s FROM settings WHERE setting = 'windows_s'
