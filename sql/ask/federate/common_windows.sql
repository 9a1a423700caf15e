-- description: Lengths of windows that every lake computes, so that windows of all add up
-- grain: window_s
-- reads: lake_windows
SELECT window_s FROM lake_windows GROUP BY window_s HAVING count(*) = (SELECT count(DISTINCT lake) FROM lake_windows)
