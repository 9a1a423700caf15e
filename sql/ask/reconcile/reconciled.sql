-- description: What was charged for some days, what of it lies in days with telemetry and counts, and what does not: by billing source, by UTC day, in all
-- grain: part (of source, day and total); source, basis or day
-- reads: reconciled_days
-- unit: dollars
SELECT
    CASE WHEN grouping(dialect) = 0 THEN 'source' WHEN grouping(day_start) = 0 THEN 'day' ELSE 'total' END AS part,
    coalesce(dialect, 'all') AS source,
    coalesce(basis, '') AS basis,
    strftime(day_start, '%Y-%m-%d') AS day,
    sum_usd(billed_usd) AS billed,
    sum_usd(billed_usd - outside_usd) AS in_observed_days,
    sum_usd(outside_usd) AS outside,
    sum_usd(displaced_usd) AS displaced,
    sum_usd(allocated_usd) AS counted,
    sum_usd(difference_usd) AS difference
FROM reconciled_days
GROUP BY GROUPING SETS ((dialect, basis), (day_start), ())
HAVING count(*) > 0
