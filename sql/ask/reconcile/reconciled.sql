-- description: What each billing source charged for some days, what of it lies in days with telemetry and counts, and what does not; the last row adds up
-- grain: source, basis
-- reads: reconciliation
-- unit: dollars; days by the variables reconciled_from and reconciled_until
SELECT
    coalesce(dialect, 'all') AS source,
    coalesce(basis, '') AS basis,
    sum_usd(billed_usd) AS billed,
    sum_usd(billed_usd - outside_usd) AS in_observed_days,
    sum_usd(outside_usd) AS outside,
    sum_usd(displaced_usd) AS displaced,
    sum_usd(allocated_usd) AS counted,
    sum_usd(difference_usd) AS difference
FROM reconciliation
WHERE day_start >= coalesce(getvariable('reconciled_from')::TIMESTAMPTZ, '-infinity'::TIMESTAMPTZ)
    AND day_start < coalesce(getvariable('reconciled_until')::TIMESTAMPTZ, 'infinity'::TIMESTAMPTZ)
GROUP BY GROUPING SETS ((dialect, basis), ())
HAVING count(*) > 0
ORDER BY grouping(dialect), reconciliation.dialect, reconciliation.basis
