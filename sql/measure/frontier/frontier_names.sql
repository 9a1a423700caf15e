-- description: Routes and pools that have a frontier: those of most arrivals in the last 7 days, as many as the settings keep (docs/semantics.md#frontier)
-- grain: slice, name
-- reads: recent_loads, slice_options
SELECT slice, name
FROM recent_loads
CROSS JOIN slice_options
GROUP BY slice, name, max_names
-- what was not reported is apart, and no name
QUALIFY row_number() OVER (PARTITION BY slice, name = 'unknown' ORDER BY sum(arrivals) DESC, name) <= max_names
