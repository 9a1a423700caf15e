-- description: How many requests of a period failed each gate, and how many failed it alone
-- grain: period, choice, gate
-- reads: gate_failures, shown_periods, shown_slices
SELECT
    p.period, s.choice, g.gate,
    sum(g.gated)::BIGINT AS gated, sum(g.failing)::BIGINT AS failing, sum(g.only_failing)::BIGINT AS only_failing,
    (sum(g.failing) - sum(g.only_failing))::BIGINT AS with_others
FROM gate_failures AS g
JOIN shown_periods AS p ON g.window_s = p.whole_s AND g.window_start >= p.from_at AND g.window_start < p.until_at
JOIN shown_slices AS s
    ON s.slice = g.slice AND s.slice_value IS NOT DISTINCT FROM g.slice_value AND s.workload IS NOT DISTINCT FROM g.workload
    AND s.model IS NOT DISTINCT FROM g.model AND s.pool IS NOT DISTINCT FROM g.pool AND s.route IS NOT DISTINCT FROM g.route
GROUP BY p.period, s.choice, g.gate
HAVING sum(g.failing) > 0
ORDER BY period, choice, failing DESC, gate
