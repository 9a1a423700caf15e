-- description: What became of the requests of a period: one verdict each
-- grain: period, choice, verdict
-- reads: goodput, shown_periods, shown_slices, unlabelled_excess
-- unit: expected: requests, those that nobody judged shared out to accepted and rejected as estimated; it adds up to what was offered
WITH counted AS (
    SELECT
        p.period, s.choice, g.offered,
        g.accepted, g.unlabelled, g.rejected, g.slow, g.over_budget, g.failed, g.ungated, g.unevaluable,
        g.goodput_rps * g.window_s AS expected_accepted, g.accepted AS judged_accepted, g.unlabelled AS unjudged
    FROM goodput AS g
    JOIN shown_periods AS p ON g.window_s = p.whole_s AND g.window_start >= p.from_at AND g.window_start < p.until_at
    JOIN shown_slices AS s
        ON s.slice = g.slice AND s.slice_value IS NOT DISTINCT FROM g.slice_value AND s.workload IS NOT DISTINCT FROM g.workload
        AND s.model IS NOT DISTINCT FROM g.model AND s.pool IS NOT DISTINCT FROM g.pool AND s.route IS NOT DISTINCT FROM g.route
),
unpivoted AS (
    FROM counted UNPIVOT (requests FOR verdict IN (accepted, unlabelled, rejected, slow, over_budget, failed, ungated, unevaluable))
),
expected AS (
    SELECT
        u.period, u.choice, u.verdict, u.offered, u.requests, u.unjudged,
        count(u.expected_accepted) OVER one = count(*) OVER one AS is_estimated,
        CASE u.verdict
            WHEN 'accepted' THEN u.expected_accepted
            WHEN 'unlabelled' THEN 0
            WHEN 'rejected' THEN u.requests + u.unjudged - (u.expected_accepted - u.judged_accepted)
            ELSE u.requests
        END AS expected
    FROM unpivoted AS u
    WINDOW one AS (PARTITION BY u.period, u.choice)
)
SELECT period, choice, verdict, sum(requests)::BIGINT AS requests,
    CASE WHEN verdict = 'unlabelled' THEN 'not judged' WHEN verdict = 'accepted' AND sum(unjudged) > 0 THEN 'judged and accepted' ELSE replace(verdict, '_', ' ') END AS name,
    sum(requests)::DOUBLE / nullif(sum(offered), 0) AS share,
    -- where the labels of some window say nothing, those that were judged
    CASE
        WHEN NOT bool_or(is_estimated) THEN sum(requests)
        WHEN verdict = 'accepted' THEN sum(expected) - coalesce(any_value(excess), 0)
        WHEN verdict = 'rejected' THEN sum(expected) + coalesce(any_value(excess), 0)
        ELSE sum(expected)
    END AS expected
FROM expected
LEFT JOIN unlabelled_excess USING (period, choice)
GROUP BY period, choice, verdict
HAVING sum(offered) > 0
ORDER BY period, choice, list_position(['accepted', 'unlabelled', 'rejected', 'slow', 'over_budget', 'failed', 'ungated', 'unevaluable'], verdict)
