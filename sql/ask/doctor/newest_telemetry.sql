-- description: When the newest row of telemetry was made, and when a file was last read
-- grain: one row
-- reads: sources
SELECT max(last_event_at) AS newest_at, max(ingested_at) AS read_at, count(*) AS files
FROM sources
