-- description: What each side spent and had accepted in each base window: its requests, and the money beside them that it carries
-- grain: side, start_s
-- reads: compared_beside, compared_units, compared_windows
-- unit: is_served: requests of the side ended in the window; length_s: as in compared_windows
WITH served AS (
    SELECT side, unit::BIGINT AS start_s, estimate, cost_usd FROM compared_units WHERE dimension = 'all' AND kind = 'window'
)
-- a side also carries windows before its first request and after its last
SELECT
    side, start_s, u.start_s IS NOT NULL AS is_served,
    coalesce(w.length_s, e.base_s) AS length_s, e.base_s,
    coalesce(u.estimate, 0) AS estimate,
    coalesce(u.cost_usd, 0) AS direct_usd,
    idle_usd, overhead_usd, unattributed_usd,
    direct_usd + coalesce(idle_usd, 0) + coalesce(overhead_usd, 0) + coalesce(unattributed_usd, 0) AS loaded_usd
FROM compared_windows AS w
LEFT JOIN served AS u USING (side, start_s)
FULL JOIN compared_beside AS b USING (side, start_s)
CROSS JOIN (SELECT any_value(base_s) AS base_s FROM compared_windows) AS e
