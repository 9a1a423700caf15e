-- description: The warnings as commands print them: the gravest of each kind, and how many the kind has
-- grain: kind
-- reads: warnings
SELECT
    kind,
    arg_min(severity, (place, -coalesce(affected, 0), subject)) AS severity,
    arg_min(message, (place, -coalesce(affected, 0), subject)) AS message,
    count(*) AS subjects,
    count(*) FILTER (WHERE severity = 'high') AS high,
    count(*) FILTER (WHERE severity = 'medium') AS medium,
    count(*) FILTER (WHERE severity = 'low') AS low
FROM (SELECT *, list_position(['high', 'medium', 'low'], severity) AS place FROM warnings)
GROUP BY kind
ORDER BY min(place), kind
