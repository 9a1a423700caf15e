-- description: Replicas that each pool and route needs for a stated peak of arrivals per second, with headroom: FROM replicas_for(40, headroom := 1.3); for a peak of each pool FROM replicas_for(peaks := MAP {'chat': 40, 'rag': 5}), or peaks := (SELECT map(list(pool), list(peak_rps)) FROM my_peaks)
-- grain: slice, pool, route
-- reads: known_knees
-- kind: macro
-- unit: headroom is a factor: 1.3 is 30 % more than the peak needs; less than 1, as a share would be, is refused
WITH stated AS (
    SELECT
        'pool' AS slice,
        unnest(map_keys(peaks::MAP(VARCHAR, DOUBLE))) AS pool,
        unnest(map_values(peaks::MAP(VARCHAR, DOUBLE))) AS of_pool_rps
)
SELECT
    slice, pool, route,
    coalesce(of_pool_rps, peak_rps::DOUBLE) AS stated_peak_rps,
    knee_rps,
    CASE
        WHEN k.slice IS NULL THEN error('replicas_for: no pool ' || pool || ' in frontier; its pools are '
            || (SELECT string_agg(pool, ', ' ORDER BY pool) FROM known_knees WHERE slice = 'pool'))
        WHEN stated_peak_rps > 0 IS NOT true OR headroom >= 1 IS NOT true
            THEN error('replicas_for(peak_rps, headroom := 1.2, peaks := MAP {pool: peak_rps}): a peak is above 0, and headroom a factor from 1 on')
        WHEN no_recommendation IS NULL THEN ceil(stated_peak_rps / knee_rps * headroom - 1e-9)::BIGINT
    END AS recommended_replicas,
    no_recommendation
FROM known_knees AS k
FULL JOIN stated AS s USING (slice, pool)
WHERE peaks IS NULL OR s.pool IS NOT NULL
ORDER BY ALL
