-- description: How the difference of two sides varies over the base windows that both lie in: what these have in common hits both and cancels
-- grain: side, dimension, place, metric
-- reads: compared_errors
-- unit: side: A, or A1 of A1 and B1 and so on; over_windows {variance, df} is NULL where they share no window
WITH sides AS (
    SELECT side[1] AS which, side[2:] AS pair, * FROM compared_errors
)
SELECT
    'A' || pair AS side, dimension, place, metric,
    over_windows(
        coalesce(a.error, 0), coalesce(b.error, 0), coalesce(a.cancels * b.cancels, 0), coalesce(a.is_drawn, false), coalesce(b.is_drawn, false),
        least(a.part, b.part), start_s
    ) AS over_windows
FROM (FROM sides WHERE which = 'A') AS a
FULL JOIN (FROM sides WHERE which = 'B') AS b USING (pair, dimension, place, metric, start_s, whose)
GROUP BY pair, dimension, place, metric
