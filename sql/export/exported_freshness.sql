-- description: Until when telemetry was observed, windows are final and bills reach
-- grain: one row at most
-- reads: watermark
-- unit: Unix seconds
SELECT
    epoch(observed_until_at) AS observed_until_s,
    epoch(final_until_at) AS final_until_s,
    epoch(billed_until_at) AS billed_until_s
FROM watermark
