-- description: Counts and tokens of the attempts that each replica ended in each window
-- grain: window_s, start_s, replica
-- reads: grains, step_attempts
SELECT
    window_s, step_start_s // window_s * window_s AS start_s, replica,
    sum(COLUMNS(* EXCLUDE (window_s, step_start_s, replica, pool, model, quarter)))::BIGINT
FROM step_attempts
CROSS JOIN grains
WHERE replica IS NOT NULL
GROUP BY ALL
