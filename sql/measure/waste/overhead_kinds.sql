-- description: Whether overhead may have to be shared, and by tenants apart: what the requests of a step are counted by
-- grain: one row
-- reads: large_partition, step_costs
-- An hour of a large day, which is added up hour by hour, does not know what the others spent: it counts by all.
SELECT
    is_large OR EXISTS (FROM step_costs WHERE bucket = 'overhead') AS is_any,
    is_large OR EXISTS (FROM step_costs WHERE tenant IS NOT NULL) AS is_of_tenants
FROM large_partition
