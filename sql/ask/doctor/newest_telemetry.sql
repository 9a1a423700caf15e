-- description: Until when telemetry was observed, no further ahead than clocks disagree, and how many files were read (docs/semantics.md#time-and-restatement)
-- grain: one row
-- reads: sources, watermark
SELECT (SELECT max(observed_until_at) FROM watermark) AS newest_at, count(*) AS files
FROM sources
