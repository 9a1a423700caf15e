-- description: The distinct values of each dimension of requests, so that requests are grouped by enum codes
-- grain: one row
-- reads: dimension_names, waste
SELECT
    list_sort(list_distinct(['unknown'] || list(DISTINCT workload))) AS workload,
    list_sort(list_distinct(['unknown', '(other)'] || list(DISTINCT model))) AS model,
    list_sort(list_distinct(['unknown', '(other)'] || list(DISTINCT pool))) AS pool,
    list_sort(list_distinct(['unknown', '(other)'] || list(DISTINCT route))) AS route
FROM (
    SELECT workload, model, pool, route FROM dimension_names
    UNION ALL
    SELECT workload, model, pool, route FROM waste WHERE slice = 'finest'
)
