-- description: The same by UTC day, all sources together
-- grain: day
-- reads: reconciliation
-- unit: dollars; days by the variables reconciled_from and reconciled_until
SELECT
    strftime(day_start, '%Y-%m-%d') AS day,
    sum_usd(billed_usd) AS billed,
    sum_usd(billed_usd - outside_usd) AS in_observed_days,
    sum_usd(outside_usd) AS outside,
    sum_usd(displaced_usd) AS displaced,
    sum_usd(allocated_usd) AS counted,
    sum_usd(difference_usd) AS difference
FROM reconciliation
WHERE day_start >= coalesce(getvariable('reconciled_from')::TIMESTAMPTZ, '-infinity'::TIMESTAMPTZ)
    AND day_start < coalesce(getvariable('reconciled_until')::TIMESTAMPTZ, 'infinity'::TIMESTAMPTZ)
GROUP BY day_start
ORDER BY day_start
