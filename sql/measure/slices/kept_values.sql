-- description: Of windows with more values of a slice than the settings allow, those that are kept: the ones of most requests (docs/semantics.md#slices)
-- grain: cut, window_s, start_s, slice_value
-- reads: grains, slice_cuts, slice_values
-- unit: a value that telemetry itself calls (other) counts and is never kept, as it could not be told apart
WITH ended AS (
    SELECT
        k.cut, k.max_values, g.window_s, v.ended_s // g.window_s * g.window_s AS start_s, v.cut_values[k.cut] AS slice_value,
        count(*) AS requests
    FROM slice_values AS v
    CROSS JOIN slice_cuts AS k
    CROSS JOIN grains AS g
    WHERE v.ended_s IS NOT NULL AND v.cut_values[k.cut] <> 'unknown'
    GROUP BY ALL
)
SELECT cut, window_s, start_s, slice_value
FROM ended
QUALIFY count(*) OVER (PARTITION BY cut, window_s, start_s) > max_values
    AND row_number() OVER (PARTITION BY cut, window_s, start_s ORDER BY slice_value = '(other)', requests DESC, slice_value) <= max_values
