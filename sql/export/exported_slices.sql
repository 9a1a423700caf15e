-- description: The slices of windows that leave the lake as metrics: few enough for any store of metrics, and no tenant among them
-- grain: slice
-- reads: goodput
SELECT DISTINCT slice
FROM goodput
WHERE slice IN ('overall', 'workload', 'model', 'pool', 'workload_route')
