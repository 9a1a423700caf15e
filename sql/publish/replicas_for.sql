-- description: Replicas that each route and pool needs for a stated peak of arrivals per second, with headroom; a table macro: FROM replicas_for(40, 1.3)
-- grain: slice, pool, route
-- reads: frontier
-- kind: macro
-- unit: headroom is a factor: 1.3 is 30 % more than the peak needs; less than 1, as a share would be, is refused
SELECT DISTINCT
    slice, pool, route,
    peak_rps AS stated_peak_rps,
    knee_rps,
    CASE
        WHEN stated_peak_rps > 0 IS NOT true OR headroom >= 1 IS NOT true
            THEN error('replicas_for(peak_rps, headroom := 1.2): peak_rps is above 0, and headroom a factor from 1 on')
        WHEN recommended_replicas IS NOT NULL THEN ceil(stated_peak_rps / knee_rps * headroom - 1e-9)::BIGINT
    END AS recommended_replicas
FROM frontier
ORDER BY ALL
