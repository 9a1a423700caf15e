-- description: Slices by tenant or attribute that every lake computes
-- grain: slice
-- reads: lake_slices, lake_windows
SELECT slice FROM lake_slices GROUP BY slice HAVING count(*) = (SELECT count(DISTINCT lake) FROM lake_windows)
