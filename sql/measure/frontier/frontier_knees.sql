-- description: The knee of each route and pool, the range of loads observed, and the replicas that its peak needs
-- grain: slice, name
-- reads: disrupted_loads, frontier_loads, frontier_sustained, knee_fits, knee_windows, recent_loads
WITH unloaded AS (
    SELECT slice, name, any_value(unloaded_goodput_ratio) AS unloaded_goodput_ratio FROM frontier_sustained GROUP BY ALL
),
observed AS (
    SELECT
        slice, name,
        min(load_rps) AS observed_min_rps,
        max(load_rps) AS observed_max_rps,
        1 - ratio(sum(arrivals), sum(carried_arrivals ORDER BY window_start)) AS shared_ratio,
        min(replicas) > 0 AS replicas_known
    FROM frontier_loads
    GROUP BY ALL
),
-- what was asked for in a disruption was asked for all the same
peaks AS (
    SELECT slice, name, max(arrivals / window_s) AS peak_rps
    FROM (
        SELECT slice, name, window_start, window_s, sum(arrivals) AS arrivals FROM recent_loads GROUP BY ALL
    )
    GROUP BY ALL
),
fitted AS (
    SELECT slice, name, count(*) AS knee_windows FROM knee_windows GROUP BY ALL
),
disrupted AS (
    SELECT slice, name, count(*) AS disrupted_windows FROM disrupted_loads GROUP BY ALL
)
SELECT
    * EXCLUDE (replicas_known, disrupted_windows),
    coalesce(disrupted_windows, 0) AS disrupted_windows,
    1.2e0 AS headroom,
    CASE
        WHEN NOT replicas_known THEN 'replicas_unknown'
        WHEN shared_ratio > 0.01 THEN 'shared_replicas'
        WHEN knee_rps IS NULL THEN 'no_knee'
    END AS no_recommendation,
    CASE WHEN no_recommendation IS NULL THEN replicas_needed(peak_rps, knee_rps, headroom) END AS recommended_replicas
FROM knee_fits
JOIN fitted USING (slice, name)
JOIN unloaded USING (slice, name)
JOIN observed USING (slice, name)
JOIN peaks USING (slice, name)
LEFT JOIN disrupted USING (slice, name)
