-- description: Work of the last 7 measured days without a known cost, where other work has one, or prices are there that match nothing
-- grain: one row at most
-- reads: cost_records, rates, recent_windows, token_prices, waste
-- Of a day whose bill has a hole the costs look low and no more: a window of days before the latest is looked at too.
WITH work AS (
    SELECT w.window_start, w.window_s, sum(w.unpriced) AS unpriced, sum(w.usd) AS usd
    FROM waste AS w
    JOIN recent_windows AS g USING (window_s, window_start)
    WHERE w.slice = 'overall' AND g.slice = 'overall'
    GROUP BY w.window_start, w.window_s
)
SELECT
    'high' AS severity,
    'costs' AS subject,
    format('{:,} part(s) of the work have no known cost, from {} to {}: costs leave them out, and are too low. Scrapes and `[rates]`, or a '
        || 'bill, price them',
        sum(unpriced)::BIGINT,
        minute_utc(min(window_start) FILTER (WHERE unpriced > 0)), minute_utc(max(window_start + to_seconds(window_s)) FILTER (WHERE unpriced > 0))) AS message,
    sum(unpriced) AS affected,
    min(window_start) FILTER (WHERE unpriced > 0) AS first_seen_at,
    max(window_start) FILTER (WHERE unpriced > 0) AS last_seen_at
FROM work
HAVING sum(unpriced) > 0
    AND (sum(usd) IS NOT NULL OR EXISTS (FROM rates) OR EXISTS (FROM token_prices) OR EXISTS (FROM cost_records))
