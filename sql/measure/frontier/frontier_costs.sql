-- description: Cost of each route and pool in each base window, and the accepted requests that bear it
-- grain: slice, name, window_start
-- reads: goodput
-- unit: cost_usd is NULL where the cost of some workload is unknown, or of how many of its requests were accepted there is no estimate
SELECT
    substr(slice, len('workload_') + 1) AS slice, coalesce(pool, route) AS name, window_start,
    CASE WHEN count(cost_usd) = count(*) AND count(goodput_rps) = count(*) THEN sum(cost_usd ORDER BY workload) END AS cost_usd,
    sum(goodput_rps * window_s ORDER BY workload) AS accepted
FROM goodput
WHERE slice IN ('workload_route', 'workload_pool') AND window_s = (SELECT min(window_s) FROM goodput)
GROUP BY ALL
