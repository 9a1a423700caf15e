-- description: How many subjects each kind of warning has
-- grain: kind, severity
-- reads: warnings
SELECT kind, severity, count(*) AS subjects
FROM warnings
GROUP BY kind, severity
