-- description: Share of the offered requests that was accepted, window by window, with its 95 % interval
-- grain: period, choice, at
-- reads: goodput, shown_periods, shown_slices
SELECT
    p.period, s.choice, g.window_start AS at, g.window_s, g.offered,
    g.goodput_ratio AS ratio, g.goodput_ratio_ci_low AS low, g.goodput_ratio_ci_high AS high, g.definition, g.partial
FROM goodput AS g
JOIN shown_periods AS p ON g.window_s = p.drawn_s AND g.window_start >= p.from_at AND g.window_start < p.until_at
JOIN shown_slices AS s
    ON s.slice = g.slice AND s.slice_value IS NOT DISTINCT FROM g.slice_value AND s.workload IS NOT DISTINCT FROM g.workload
    AND s.model IS NOT DISTINCT FROM g.model AND s.pool IS NOT DISTINCT FROM g.pool AND s.route IS NOT DISTINCT FROM g.route
WHERE g.offered > 0
ORDER BY ALL
