-- description: Lengths of windows, and slices by tenant or attribute, that every lake computes, so that rows of all add up
-- grain: setting, value
-- reads: lake_groupings
SELECT setting, value
FROM lake_groupings
GROUP BY setting, value
HAVING count(*) = (SELECT count(DISTINCT lake) FROM lake_groupings)
