-- description: Medians of the latest window that no model server has: the unit of a mapped column is probably wrong
-- grain: subject
-- reads: recent_windows
WITH medians AS (
    SELECT window_start, unnest([
        {measure: 'ttft_s', n: n_ttft, median: p50_ttft_s, least: 1e-3, most: 1000},
        {measure: 'tpot_s', n: n_tpot, median: p50_tpot_s, least: 5e-5, most: 10},
        {measure: 'e2e_s', n: n_e2e, median: p50_e2e_s, least: 1e-3, most: 100000},
        {measure: 'queue_s', n: n_queue, median: p50_queue_s, least: 0, most: 10000}
    ], max_depth := 2)
    FROM recent_windows
    WHERE is_latest AND slice = 'overall'
)
SELECT
    'high' AS severity,
    measure AS subject,
    format('Half of {:,} request(s) have a {} of {:.3g} s or {}: no model server is that {}. '
            || 'Check the unit of the column or attribute that it is mapped from',
        n::BIGINT, measure, median,
        CASE WHEN median > most THEN 'more' ELSE 'less' END,
        CASE WHEN median > most THEN 'slow' ELSE 'fast' END) AS message,
    n AS affected,
    n AS total,
    window_start AS first_seen_at,
    window_start AS last_seen_at
FROM medians
WHERE n > 0 AND (median > most OR median < least)
