-- description: Requests of each window on which each gate was measured, and those of them that fail it
-- grain: slice, name, window_start, gate
-- reads: frontier_windows
SELECT slice, name, window_start, gate, sum(gated)::BIGINT AS gated, sum(failing)::BIGINT AS failing
FROM (
    SELECT
        slice, name, window_start,
        unnest(gates) AS gate, unnest(gated_counts) AS gated, unnest(failing_counts) AS failing
    FROM frontier_windows
)
GROUP BY ALL
