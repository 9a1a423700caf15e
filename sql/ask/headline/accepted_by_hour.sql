-- description: Share accepted in each hour of the window that `headline` shows, with no row left out: NULL where no request ended
-- grain: hour_start
-- reads: goodput, latest_window
SELECT hour_start, g.goodput_ratio AS ratio
FROM (
    SELECT unnest(generate_series(window_start, window_start + to_seconds(window_s - 3600), INTERVAL 1 HOUR)) AS hour_start
    FROM latest_window
    WHERE window_s > 3600
) AS h
LEFT JOIN goodput AS g ON g.window_start = h.hour_start AND g.window_s = 3600 AND g.slice = 'overall' AND g.offered > 0
ORDER BY hour_start
