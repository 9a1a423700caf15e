-- description: Of windows with more names of models, pools or routes than the settings allow, those that are kept: the ones of most requests (docs/semantics.md#slices)
-- grain: window_s, start_s
-- reads: grains, slice_options, step_names
-- unit: NULL where all of a kind are kept; a name that telemetry itself calls (other) counts and is never kept, as it could not be told apart
WITH named AS (
    SELECT window_s, step_start_s // window_s * window_s AS start_s, model, pool, route, requests
    FROM step_names
    CROSS JOIN grains
    -- hardly any telemetry has as many: where it has not, nothing is counted
    WHERE (SELECT max(max_names) FROM slice_options)
        < (SELECT greatest(count(DISTINCT model), count(DISTINCT pool), count(DISTINCT route)) FROM step_names)
),
ranked AS (
    SELECT window_s, start_s, kind, name
    FROM (SELECT window_s, start_s, kind, name, sum(requests) AS requests FROM named UNPIVOT (name FOR kind IN (model, pool, route)) GROUP BY ALL)
    CROSS JOIN slice_options
    WHERE name <> 'unknown'
    QUALIFY count(*) OVER (PARTITION BY window_s, start_s, kind) > max_names
        AND row_number() OVER (PARTITION BY window_s, start_s, kind ORDER BY name = '(other)', requests DESC, name) <= max_names
)
SELECT
    window_s, start_s,
    list(name) FILTER (WHERE kind = 'model') AS models,
    list(name) FILTER (WHERE kind = 'pool') AS pools,
    list(name) FILTER (WHERE kind = 'route') AS routes
FROM ranked
GROUP BY ALL
