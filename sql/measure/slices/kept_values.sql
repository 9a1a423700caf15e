-- description: Of windows with more values of a slice than the settings allow, those that are kept: the ones of most requests (docs/semantics.md#slices)
-- grain: cut, window_s, start_s, slice_value
-- reads: grains, slice_cuts, step_values
-- unit: a value that telemetry itself calls (other) counts and is never kept, as it could not be told apart
WITH ended AS (
    SELECT
        k.cut, k.max_values, g.window_s, v.step_start_s // g.window_s * g.window_s AS start_s, v.slice_value,
        sum(v.requests) AS requests
    FROM step_values AS v
    JOIN slice_cuts AS k USING (cut)
    CROSS JOIN grains AS g
    WHERE v.slice_value <> 'unknown'
    GROUP BY ALL
)
SELECT cut, window_s, start_s, slice_value
FROM ended
QUALIFY count(*) OVER (PARTITION BY cut, window_s, start_s) > max_values
    AND row_number() OVER (PARTITION BY cut, window_s, start_s ORDER BY slice_value = '(other)', requests DESC, slice_value) <= max_values
