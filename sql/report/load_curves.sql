-- description: Share of requests accepted at each load that replicas of a pool bore, over the last 7 days, with knee and peak
-- grain: slice, pool, route, load_rps
-- reads: frontier
-- unit: requests per second and replica
SELECT
    slice AS divided_by, pool, route, coalesce(pool, '') || CASE WHEN slice = 'route' THEN ' ' || coalesce(route, '') ELSE '' END AS name,
    load_rps, goodput_ratio AS ratio, goodput_ratio_ci_low AS low, goodput_ratio_ci_high AS high,
    windows, is_sustained, knee_rps, knee_ci_low_rps, knee_ci_high_rps, knee_censored, peak_rps,
    recommended_replicas, no_recommendation
FROM frontier
WHERE load_rps IS NOT NULL
ORDER BY ALL
