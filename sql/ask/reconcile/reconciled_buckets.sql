-- description: In which buckets what counts is
-- grain: bucket
-- reads: reconciled_days
-- unit: dollars
WITH spent AS (
    UNPIVOT (SELECT COLUMNS('^(.*)_usd$') AS '\1' FROM reconciled_days)
    ON COLUMNS(* EXCLUDE (billed, outside, displaced, allocated, difference)) INTO NAME bucket VALUE usd
)
SELECT bucket, sum_usd(usd) AS counted, format('{:.1f} %', 100 * ratio(sum_usd(usd), sum(sum_usd(usd)) OVER ())) AS share
FROM spent
GROUP BY bucket
HAVING sum_usd(usd) <> 0
ORDER BY sum_usd(usd) DESC, bucket
