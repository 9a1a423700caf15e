-- description: Rates of the settings that no replica of the latest window has, with the pools and replicas that were seen
-- grain: subject
-- reads: latest_window, rates, replica_windows
WITH seen AS (
    SELECT DISTINCT r.pool, r.replica FROM replica_windows AS r JOIN latest_window USING (window_s, window_start)
),
names AS (
    SELECT
        list_sort(list(DISTINCT pool) FILTER (WHERE pool IS NOT NULL)) AS pools, list_sort(list(DISTINCT replica)) AS replicas
    FROM seen
)
SELECT
    'high' AS severity,
    'rates.' || r.name AS subject,
    format('Nothing is paid by [rates.{}]: no replica has {}. Pools seen: {}; replicas: {}',
        r.name,
        concat_ws(' and ', 'pool ' || array_to_string(r.pool, ' or '), 'replica ' || array_to_string(r.replica, ' or ')),
        coalesce(array_to_string(n.pools[:5], ', '), 'none'), coalesce(array_to_string(n.replicas[:5], ', '), 'none')) AS message
FROM rates AS r
CROSS JOIN names AS n
WHERE coalesce(r.pool, r.replica) IS NOT NULL AND NOT EXISTS (
    FROM seen AS s
    WHERE matches_any(s.pool, r.pool) AND matches_any(s.replica, r.replica)
)
