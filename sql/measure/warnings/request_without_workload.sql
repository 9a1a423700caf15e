-- description: Requests of the latest window that no workload selects, with the models and routes that they carry
-- grain: subject
-- reads: recent_windows
WITH named AS (
    SELECT
        sum(ungated)::BIGINT AS requests,
        format('{} of model {}, route {}', requests, model, route) AS described
    FROM recent_windows
    WHERE is_latest AND slice = 'finest' AND ungated > 0
    GROUP BY model, route
)
SELECT
    'high' AS severity,
    'unassigned' AS subject,
    format('{:,} request(s) match no workload of the settings: they are ungated, and none of them is accepted ({}). '
            || 'Let the `match` of a workload select them',
        sum(requests)::BIGINT, some_of(list(described ORDER BY requests DESC, described))) AS message,
    sum(requests) AS affected,
    (SELECT sum(offered) FROM recent_windows WHERE is_latest AND slice = 'overall') AS total,
    (SELECT min(window_start) FROM recent_windows WHERE slice = 'overall' AND ungated > 0) AS first_seen_at,
    (SELECT max(window_start) FROM recent_windows WHERE slice = 'overall' AND ungated > 0) AS last_seen_at
FROM named
HAVING count(*) > 0
