-- description: Warning: lakes whose version of Goodput publishes no settings, so that they cannot be compared with those of others
-- grain: subject
-- reads: goodput, settings
WITH unknown AS (
    SELECT DISTINCT lake FROM goodput WHERE lake NOT IN (SELECT lake FROM settings)
)
SELECT
    'settings_unknown' AS kind, 'low' AS severity, min(lake) AS subject,
    format('the settings of {} are not known, as an older version of Goodput published its database: whether exchange rates and other settings '
            || 'are those of the other lakes was not looked at. `goodput run` publishes them', string_agg(lake, ', ' ORDER BY lake)) AS message,
    count(*) AS affected, (SELECT count(DISTINCT lake) FROM goodput) AS total
FROM unknown
HAVING count(*) > 0 AND (SELECT count(DISTINCT lake) FROM goodput) > 1
