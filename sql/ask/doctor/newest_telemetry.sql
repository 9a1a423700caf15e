-- description: When the newest row of telemetry was made, and how many files were read
-- grain: one row
-- reads: sources
SELECT max(last_event_at) AS newest_at, count(*) AS files
FROM sources
