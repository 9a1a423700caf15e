-- description: What an accepted result cost, window by window, with its 95 % interval; where it has none, why
-- grain: period, choice, at
-- reads: goodput, shown_periods, shown_slices, waste
-- unit: US dollars per accepted request (or what the workload counts)
SELECT
    p.period, s.choice, g.window_start AS at, g.window_s, g.cost_per_accepted_usd AS price_usd,
    g.cost_per_accepted_ci_low_usd AS low_usd, g.cost_per_accepted_ci_high_usd AS high_usd, g.cost_usd, g.offered, g.partial,
    coalesce(g.unpriced, 0) AS unpriced,
    CASE WHEN g.cost_per_accepted_usd IS NULL THEN
        CASE WHEN g.cost_usd IS NULL THEN 'cost_unknown' WHEN g.goodput_rps IS NULL THEN 'labels_not_drawn' ELSE 'nothing_accepted' END
    END AS no_price
FROM goodput AS g
JOIN shown_periods AS p ON g.window_s = p.drawn_s AND g.window_start >= p.from_at AND g.window_start < p.until_at
JOIN shown_slices AS s
    ON s.slice = g.slice AND s.slice_value IS NOT DISTINCT FROM g.slice_value AND s.workload IS NOT DISTINCT FROM g.workload
    AND s.model IS NOT DISTINCT FROM g.model AND s.pool IS NOT DISTINCT FROM g.pool AND s.route IS NOT DISTINCT FROM g.route
WHERE g.cost_per_accepted_usd IS NOT NULL OR EXISTS (FROM waste WHERE usd <> 0)
ORDER BY ALL
