-- description: The knee of each route and pool: the highest load that is still sustained; and the range of loads observed
-- grain: slice, name
-- reads: frontier_loads, frontier_sustained
WITH knees AS (
    SELECT
        slice, name,
        any_value(unloaded_goodput_ratio) AS unloaded_goodput_ratio,
        max(load_rps) FILTER (WHERE is_sustained) AS knee_rps,
        max(load_bin) FILTER (WHERE is_sustained) = max(load_bin) AS knee_is_last
    FROM frontier_sustained
    GROUP BY ALL
),
observed AS (
    SELECT
        slice, name,
        min(load_rps) AS observed_min_rps,
        max(load_rps) AS observed_max_rps,
        max(arrivals / window_s) AS peak_rps,
        1 - ratio(sum(arrivals), sum(carried ORDER BY window_start)) AS shared_ratio,
        min(replicas) > 0 AS replicas_known
    FROM frontier_loads
    GROUP BY ALL
)
SELECT
    * EXCLUDE (replicas_known),
    CASE
        WHEN NOT replicas_known THEN 'replicas_unknown'
        WHEN shared_ratio > 0.01 THEN 'shared_replicas'
        WHEN knee_rps IS NULL THEN 'no_knee'
    END AS no_recommendation,
    CASE WHEN no_recommendation IS NULL THEN replicas_needed(peak_rps, knee_rps, 1.2) END AS recommended_replicas
FROM knees
JOIN observed USING (slice, name)
