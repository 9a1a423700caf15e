-- description: How far accepted requests of a kind of operation, or of steady time, may lie from their estimate because labels are a sample
-- grain: is_steady, kind, pool (NULL: all pools)
-- reads: kind_labels
-- unit: below, above: of such requests; open_below, open_above: what has no label
WITH samples AS (
    SELECT
        is_steady, kind, pool, workload, all_need, is_estimated, must_pass,
        sum(need - labelled) AS open,
        CASE WHEN is_estimated THEN all_passed / all_labelled END AS pass_rate,
        wilson(pass_rate, all_labelled) AS share
    FROM kind_labels
    WHERE workload IS NOT NULL
    GROUP BY ALL
)
SELECT
    is_steady, kind, pool,
    sqrt(coalesce(sum((all_need * (pass_rate - share.low)) ** 2 ORDER BY pool, workload) FILTER (WHERE is_estimated), 0)) AS below,
    sqrt(coalesce(sum((all_need * (share.high - pass_rate)) ** 2 ORDER BY pool, workload) FILTER (WHERE is_estimated), 0)) AS above,
    coalesce(sum(open) FILTER (WHERE NOT is_estimated AND NOT must_pass), 0)::DOUBLE AS open_below,
    coalesce(sum(open) FILTER (WHERE NOT is_estimated AND must_pass), 0)::DOUBLE AS open_above
FROM samples
GROUP BY GROUPING SETS ((is_steady, kind, pool), (is_steady, kind))
