-- description: Whether sides that lie in different times vary slowly: neighbouring base windows of a side fare alike (docs/semantics.md#comparison)
-- grain: one row
-- reads: compared_windows
-- unit: alike: correlation of goodput_ratio between a window of a side and the next, over both sides
WITH rated AS (
    SELECT
        side, start_s, base_s, is_apart,
        (estimate - n * sum_steady(estimate) OVER of_side / sum(n) OVER of_side) / sqrt(n) AS residual
    FROM compared_windows
    WHERE n > 0
    WINDOW of_side AS (PARTITION BY side)
),
paired AS (
    SELECT
        count(*) AS pairs,
        2 * sum_steady(a.residual * b.residual) / nullif(sum_steady(a.residual ** 2 + b.residual ** 2), 0) AS alike
    FROM rated AS a
    JOIN rated AS b ON b.side = a.side AND b.start_s = a.start_s + a.base_s
),
shared AS (
    SELECT count(*) AS windows, count(*) FILTER (WHERE sides > 1 AND NOT is_apart) AS shared
    FROM (SELECT start_s, count(DISTINCT side) AS sides, bool_or(is_apart) AS is_apart FROM rated GROUP BY start_s)
)
-- by chance one side pair in 20 looks so (one-sided); what both sides saw at the same time is in no difference between them
SELECT alike, pairs, coalesce(alike * sqrt(pairs) > 1.645 AND shared <= 0.1 * windows, false) AS drifts
FROM paired CROSS JOIN shared
