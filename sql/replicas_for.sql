-- description: Replicas that each route and pool needs for a stated peak of arrivals per second, with headroom; asked as a table: FROM replicas_for(40, 1.3)
-- grain: slice, pool, route
-- kind: macro
SELECT DISTINCT
    slice, pool, route,
    peak_rps AS stated_peak_rps,
    knee_rps,
    CASE WHEN recommended_replicas IS NOT NULL THEN ceil(stated_peak_rps / knee_rps * headroom - 1e-9)::BIGINT END AS recommended_replicas
FROM frontier
