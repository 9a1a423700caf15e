-- description: Where the dollars of a period went, bucket by bucket, from what was accepted to what was wasted
-- grain: period, choice, bucket
-- reads: shown_periods, shown_slices, waste
-- unit: US dollars; from_usd and until_usd: where a bucket begins and ends when all are laid end to end; low_usd, high_usd: the ends of 95 % intervals, of several windows added up, which is generous
WITH summed AS (
    SELECT
        p.period, s.choice, w.bucket, sum(w.usd) AS usd, sum(w.unpriced)::BIGINT AS unpriced, bool_or(w.estimated) AS estimated,
        CASE WHEN count(w.ci_low_usd) = count(*) THEN sum(w.ci_low_usd) END AS low_usd,
        CASE WHEN count(w.ci_high_usd) = count(*) THEN sum(w.ci_high_usd) END AS high_usd,
        CASE w.bucket WHEN 'accepted' THEN 0 WHEN 'unlabelled' THEN 1 ELSE 2 END AS place
    FROM waste AS w
    JOIN shown_periods AS p ON w.window_s = p.whole_s AND w.window_start >= p.from_at AND w.window_start < p.until_at
    JOIN shown_slices AS s
        ON s.slice = w.slice AND s.slice_value IS NOT DISTINCT FROM w.slice_value AND s.workload IS NOT DISTINCT FROM w.workload
        AND s.model IS NOT DISTINCT FROM w.model AND s.pool IS NOT DISTINCT FROM w.pool AND s.route IS NOT DISTINCT FROM w.route
    GROUP BY p.period, s.choice, w.bucket
)
SELECT
    period, choice, bucket, usd, low_usd, high_usd, estimated,
    usd / nullif(sum(usd) OVER of_slice, 0) AS share,
    row_number() OVER in_order AS place,
    sum(usd) OVER in_order - usd AS from_usd,
    sum(usd) OVER in_order AS until_usd,
    sum(unpriced) OVER of_slice::BIGINT AS unpriced
FROM summed
WINDOW of_slice AS (PARTITION BY period, choice), in_order AS (PARTITION BY period, choice ORDER BY place, usd DESC NULLS LAST, bucket)
QUALIFY usd <> 0
ORDER BY period, choice, place
