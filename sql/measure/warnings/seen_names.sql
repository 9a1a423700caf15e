-- description: Models, routes and pools of the requests of the last 7 measured days, the most frequent first in each dimension
-- grain: dimension, name
-- reads: recent_windows
SELECT dimension, name, sum(offered)::BIGINT AS requests
FROM (
    SELECT offered, unnest([
        {dimension: 'model', name: model}, {dimension: 'route', name: route}, {dimension: 'pool', name: pool}
    ], max_depth := 2)
    FROM recent_windows
    WHERE slice = 'finest' AND offered + arrivals > 0
)
WHERE name <> 'unknown'
GROUP BY dimension, name
