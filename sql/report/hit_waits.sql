-- description: How soon answers began by how much of their prompt was found in a cache
-- grain: period, pool, model, band
-- reads: cache_effect, shown_periods
-- unit: seconds; of several windows the mean of their percentiles, weighted by answers
SELECT
    p.period, c.pool, c.model, c.band,
    any_value(c.cached_above_ratio) AS cached_above_ratio, any_value(c.cached_up_to_ratio) AS cached_up_to_ratio,
    sum(c.p50_ttft_s * c.n_ttft) / sum(c.n_ttft) AS p50_ttft_s,
    sum(c.p95_ttft_s * c.n_ttft) / sum(c.n_ttft) AS p95_ttft_s,
    sum(c.n_ttft)::BIGINT AS n_ttft
FROM cache_effect AS c
JOIN shown_periods AS p ON c.window_s = p.whole_s AND c.window_start >= p.from_at AND c.window_start < p.until_at
WHERE c.n_ttft > 0
GROUP BY p.period, c.pool, c.model, c.band
ORDER BY period, pool, model, cached_up_to_ratio
