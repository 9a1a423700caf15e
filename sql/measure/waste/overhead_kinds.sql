-- description: Whether overhead may have to be shared, and by tenants apart: what the requests of a step are counted by
-- grain: one row
-- reads: step_costs, waste_options
-- An hour of a day that is added up hour by hour does not know what the others spent: it counts by all.
SELECT
    is_by_hour OR EXISTS (FROM step_costs WHERE bucket = 'overhead') AS is_any,
    is_by_hour OR EXISTS (FROM step_costs WHERE tenant IS NOT NULL) AS is_of_tenants
FROM waste_options
