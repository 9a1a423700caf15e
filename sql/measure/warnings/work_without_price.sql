-- description: Work of the latest window without a known cost, where other work has one, or prices are there that match nothing
-- grain: one row at most
-- reads: cost_records, rates, recent_windows, token_prices, waste
SELECT
    'high' AS severity,
    'costs' AS subject,
    format('{:,} part(s) of the work have no known cost: costs leave them out, and are too low. Scrapes and `[rates]`, or a bill, '
        || 'price them', sum(w.unpriced)::BIGINT) AS message,
    sum(w.unpriced) AS affected,
    w.window_start AS first_seen_at,
    w.window_start AS last_seen_at
FROM waste AS w
JOIN recent_windows AS g USING (window_s, window_start)
WHERE w.slice = 'overall' AND g.slice = 'overall' AND g.is_latest
GROUP BY w.window_start
HAVING sum(w.unpriced) > 0
    AND (sum(w.usd) IS NOT NULL OR EXISTS (FROM rates) OR EXISTS (FROM token_prices) OR EXISTS (FROM cost_records))
