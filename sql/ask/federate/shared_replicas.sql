-- description: Warning: replicas that several lakes know by the same name in the same window, whose time and cost count in each of them
-- grain: subject
-- reads: replica_windows
WITH shared AS (
    SELECT replica, min(lake) AS one, max(lake) AS other
    FROM (SELECT DISTINCT replica, window_start, lake FROM replica_windows WHERE replica <> 'unknown')
    GROUP BY replica, window_start
    HAVING min(lake) <> max(lake)
)
SELECT
    'replica_in_several_lakes' AS kind, 'medium' AS severity, min(replica) AS subject,
    format('{:,} replica(s) lived in several of the lakes at the same time, such as {} in {} and {}. If these are the same machines, '
            || 'what their time costs counts once in each lake, and several times in federated_goodput',
        count(DISTINCT replica), min(replica), arg_min(one, (replica, one, other)), arg_min(other, (replica, one, other))) AS message,
    count(DISTINCT replica) AS affected, (SELECT count(DISTINCT replica) FROM replica_windows WHERE replica <> 'unknown') AS total
FROM shared
HAVING count(*) > 0
