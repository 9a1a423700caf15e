-- description: For each hour and each name or address that telemetry uses the replica that it stands for, by what was learnt in that hour and those beside it; NULL: an address in front of several (docs/semantics.md#which-replica)
-- grain: epoch_hour, name
-- reads: declared_names, replica_names
WITH near AS (
    SELECT DISTINCT epoch_hour + away AS epoch_hour, name, evidence, replica, model
    FROM replica_names
    CROSS JOIN (SELECT unnest([-1, 0, 1]) AS away)
),
-- another name of one process; what names two of them names neither
aliases AS (
    SELECT epoch_hour, name, min(replica) AS replica
    FROM near
    WHERE evidence IN ('resource', 'labels')
    GROUP BY epoch_hour, name
    HAVING min(replica) = max(replica)
),
own AS (
    SELECT
        n.epoch_hour, n.replica AS name,
        coalesce(d.replica, further.replica, a.replica, n.replica) AS replica
    FROM (SELECT DISTINCT epoch_hour, replica FROM near WHERE replica IS NOT NULL) AS n
    LEFT JOIN aliases AS a ON a.epoch_hour = n.epoch_hour AND a.name = n.replica
    LEFT JOIN declared_names AS d ON d.name = n.replica
    LEFT JOIN declared_names AS further ON further.name = a.replica
),
meant AS ( -- every piece of evidence with the replica's one name
    SELECT n.epoch_hour, n.name, n.evidence, n.model, o.replica
    FROM near AS n
    LEFT JOIN own AS o ON o.epoch_hour = n.epoch_hour AND o.name = n.replica
),
called AS (
    SELECT epoch_hour, name, CASE WHEN min(replica) = max(replica) THEN min(replica) END AS replica
    FROM meant
    WHERE evidence = 'call'
    GROUP BY epoch_hour, name
),
-- where gateways call one address alone for a model, and one replica alone serves it, they are the same
only_served AS (
    SELECT epoch_hour, model, min(replica) AS replica
    FROM meant
    WHERE evidence = 'sample' AND model IS NOT NULL
    GROUP BY epoch_hour, model
    HAVING min(replica) = max(replica)
),
only_called AS (
    SELECT epoch_hour, model, min(name) AS name
    FROM meant
    WHERE evidence = 'upstream' AND model IS NOT NULL
    GROUP BY epoch_hour, model
    HAVING min(name) = max(name)
),
matched AS (
    SELECT epoch_hour, c.name, min(s.replica) AS replica
    FROM only_called AS c
    JOIN only_served AS s USING (epoch_hour, model)
    GROUP BY epoch_hour, c.name
    HAVING min(s.replica) = max(s.replica)
),
ranked AS (
    SELECT epoch_hour, name, replica, 0 AS preference FROM own
    UNION ALL
    SELECT a.epoch_hour, a.name, o.replica, 1
    FROM aliases AS a
    JOIN own AS o ON o.epoch_hour = a.epoch_hour AND o.name = a.replica
    UNION ALL
    SELECT epoch_hour, name, replica, 2 FROM called
    UNION ALL
    SELECT epoch_hour, name, replica, 3 FROM matched
)
SELECT epoch_hour, name, replica
FROM ranked
QUALIFY row_number() OVER (PARTITION BY epoch_hour, name ORDER BY preference) = 1
