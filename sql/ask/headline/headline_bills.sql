-- description: What was billed in all, and what of it lies in days with telemetry, in one line
-- grain: one row at most
-- reads: reconciliation
WITH summed AS (
    SELECT
        sum_usd(billed_usd) AS billed, sum_usd(outside_usd) AS outside, sum_usd(displaced_usd) AS displaced,
        min(day_start) AS from_at, max(day_start) AS until_at
    FROM reconciliation
)
SELECT
    format('Billed from {} to {}: {}, of which {} in days with telemetry{}{}; `goodput reconcile` shows where it went',
        strftime(from_at, '%Y-%m-%d'), strftime(until_at, '%Y-%m-%d'),
        dollars(billed), dollars(billed - outside),
        CASE WHEN abs(outside) >= 0.005 THEN format(' and {} outside, in no window', dollars(outside)) ELSE '' END,
        CASE WHEN abs(displaced) >= 0.005 THEN format(' ({} displaced by a better basis)', dollars(displaced)) ELSE '' END) AS line
FROM summed
WHERE billed IS NOT NULL
