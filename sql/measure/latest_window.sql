-- description: The window that the headline shows: the latest of the longest length that began before telemetry ends (docs/semantics.md#which-windows-exist)
-- grain: one row at most
-- reads: goodput, observed
SELECT g.window_start, g.window_s, g.partial
FROM goodput AS g
CROSS JOIN observed AS o
WHERE g.slice = 'overall'
    AND g.window_s = (SELECT max(window_s) FROM goodput)
    -- where there are metrics alone, nothing bounds it
    AND (epoch_us(g.window_start) * 1000 <= o.observed_until_ns OR o.observed_until_ns = 0)
ORDER BY g.window_start DESC
LIMIT 1
