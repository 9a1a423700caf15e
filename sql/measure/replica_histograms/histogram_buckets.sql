-- description: How much each replica's histograms observed up to each bound, by window: over series, the bounds that all of them have
-- grain: window_s, start_s, layer, replica, metric, bound
-- reads: histogram_steps
WITH spread AS (
    SELECT
        window_s, start_s, layer, replica, metric, series_id, segment,
        unnest(bounds) AS bound,
        unnest(list_transform(list_zip(counts, counts_before), lambda pair: pair[1] - pair[2])) AS observed
    FROM histogram_steps
),
series AS (
    SELECT window_s, start_s, layer, replica, metric, count(*) AS series FROM histogram_steps GROUP BY ALL
)
SELECT window_s, start_s, layer, replica, metric, s.bound, sum(s.observed ORDER BY s.series_id, s.segment) AS observed
FROM spread AS s
JOIN series AS n USING (window_s, start_s, layer, replica, metric)
GROUP BY ALL
HAVING count(*) = any_value(n.series)
