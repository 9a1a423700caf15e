-- description: Whether each load bin is served as well as an unloaded one: at least 95 % of its goodput ratio, and every p99 gate holds
-- grain: slice, name, load_bin
-- reads: frontier_bins
-- unit: is_sustained is NULL where fewer than 100 requests ended: too few to show either
WITH unloaded AS (
    -- the least load of which there is enough to judge, else the least
    SELECT slice, name, arg_min(goodput_ratio, (is_low_n(ended), load_bin)) AS unloaded_goodput_ratio
    FROM frontier_bins
    GROUP BY ALL
)
SELECT
    slice, name, load_bin, load_rps, unloaded_goodput_ratio,
    CASE WHEN NOT is_low_n(ended)
        THEN goodput_ratio > 0 AND goodput_ratio >= 0.95 * unloaded_goodput_ratio AND p99_gates_hold END AS is_sustained
FROM frontier_bins
JOIN unloaded USING (slice, name)
