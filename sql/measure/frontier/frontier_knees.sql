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
        min(replicas) > 0 AS replicas_known
    FROM frontier_loads
    GROUP BY ALL
)
SELECT
    * EXCLUDE (replicas_known),
    CASE WHEN replicas_known THEN replicas_needed(peak_rps, knee_rps, 1.2) END AS recommended_replicas
FROM knees
JOIN observed USING (slice, name)
