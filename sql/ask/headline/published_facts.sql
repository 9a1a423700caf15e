-- description: Numbers of what is published that are worth a line over time: of the latest day (else longest window) over all, and of the data itself
-- grain: one row
-- reads: alarms, blocked_partitions, goodput, latest_window, sources, warnings
-- unit: goodput_ratio of offered units; cost_per_accepted_usd loaded; rows_quarantined of all files; counts otherwise
SELECT
    g.offered, g.accepted, g.goodput_ratio, g.coverage_ratio, g.p99_ttft_s, g.cost_per_accepted_usd,
    (SELECT coalesce(sum(rows_quarantined), 0)::BIGINT FROM sources) AS rows_quarantined,
    (SELECT count(*) FROM blocked_partitions) AS blocked_partitions,
    (SELECT count(*) FROM warnings WHERE severity = 'high') AS grave_warnings,
    (SELECT count(*) FROM alarms WHERE state = 'firing') AS firing_alarms
FROM goodput AS g
JOIN latest_window USING (window_s, window_start)
WHERE g.slice = 'overall'
