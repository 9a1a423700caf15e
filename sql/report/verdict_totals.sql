-- description: What became of the requests of a period: one verdict each
-- grain: period, choice, verdict
-- reads: goodput, shown_periods, shown_slices
WITH counted AS (
    SELECT
        p.period, s.choice, g.offered,
        g.accepted, g.unlabelled, g.rejected, g.slow, g.over_budget, g.failed, g.ungated, g.unevaluable
    FROM goodput AS g
    JOIN shown_periods AS p ON g.window_s = p.whole_s AND g.window_start >= p.from_at AND g.window_start < p.until_at
    JOIN shown_slices AS s
        ON s.slice = g.slice AND s.slice_value IS NOT DISTINCT FROM g.slice_value AND s.workload IS NOT DISTINCT FROM g.workload
        AND s.model IS NOT DISTINCT FROM g.model AND s.pool IS NOT DISTINCT FROM g.pool AND s.route IS NOT DISTINCT FROM g.route
)
SELECT period, choice, verdict, sum(requests)::BIGINT AS requests,
    sum(requests)::DOUBLE / nullif(sum(offered), 0) AS share
FROM counted UNPIVOT (requests FOR verdict IN (accepted, unlabelled, rejected, slow, over_budget, failed, ungated, unevaluable))
GROUP BY period, choice, verdict
HAVING sum(offered) > 0
ORDER BY ALL
