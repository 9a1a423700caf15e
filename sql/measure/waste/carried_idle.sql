-- description: Idle time of each pool and window, divided among those whom the pool served in that window (docs/semantics.md#idle-time)
-- grain: window_s, start_s, cut, slice_value, workload, model, pool, route, bucket
-- reads: unloaded_costs
-- By GPU seconds; where the pool served nobody in the window, idle time stays nobody's (`unknown`). An entry without a known
-- cost counts for each that carries it.
WITH carriers AS (
    SELECT window_s, start_s, cut, slice_value, pool, workload, model, route, sum(gpu_s)::DOUBLE AS gpu_s
    FROM unloaded_costs
    WHERE bucket NOT IN ('idle', 'overhead', 'unattributed') AND gpu_s > 0
    GROUP BY ALL
),
parts AS (
    SELECT *, gpu_s / sum(gpu_s::DECIMAL(38, 12)) OVER (PARTITION BY window_s, start_s, cut, pool)::DOUBLE AS part FROM carriers
)
SELECT
    i.window_s, i.start_s, i.cut, coalesce(p.slice_value, i.slice_value) AS slice_value,
    coalesce(p.workload, i.workload) AS workload, coalesce(p.model, i.model) AS model, i.pool, coalesce(p.route, i.route) AS route,
    i.bucket,
    i.usd * coalesce(p.part, 1) AS usd, i.gpu_s * coalesce(p.part, 1) AS gpu_s, i.tokens, i.unpriced, i.estimated, i.is_bounded,
    i.variance * coalesce(p.part, 1) ** 2 AS variance, i.common_usd * coalesce(p.part, 1) AS common_usd
FROM unloaded_costs AS i
LEFT JOIN parts AS p USING (window_s, start_s, cut, pool)
WHERE i.bucket = 'idle'
