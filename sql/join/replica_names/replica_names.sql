-- description: What each hour's telemetry calls each replica, and by what: resources, labels, and addresses that calls went to (docs/semantics.md#which-replica)
-- grain: epoch_hour, name, evidence, replica, model
-- reads: called_replicas, replica_labels, sample_records, serving_records
WITH recorded AS (
    SELECT DISTINCT coalesce(ended_ns, started_ns) // 3600000000000 AS epoch_hour, replica, replica_names
    FROM serving_records
    WHERE layer = 'engine' AND replica IS NOT NULL
),
sampled AS (
    SELECT DISTINCT sampled_ns // 3600000000000 AS epoch_hour, replica, model, labels
    FROM sample_records
    WHERE layer = 'engine'
),
labelled AS (
    SELECT s.epoch_hour, s.replica, list_distinct(list(json_extract_string(s.labels, '$."' || l.label || '"'))) AS names
    FROM sampled AS s
    CROSS JOIN replica_labels AS l
    GROUP BY s.epoch_hour, s.replica, s.labels
),
found AS (
    SELECT epoch_hour, replica AS name, 'record' AS evidence, replica, NULL::VARCHAR AS model FROM recorded
    UNION
    SELECT epoch_hour, unnest(string_split(replica_names, ' ')), 'resource', replica, NULL FROM recorded
    UNION
    SELECT epoch_hour, replica, 'sample', replica, model FROM sampled
    UNION
    -- of readings that are about another process than the one that they were read from, the labels name the latter
    SELECT epoch_hour, unnest(names), 'labels', replica, NULL FROM labelled WHERE list_contains(names, replica)
    UNION
    SELECT epoch_hour, address, 'call', replica, NULL FROM called_replicas
    UNION
    SELECT coalesce(ended_ns, started_ns) // 3600000000000, address, 'upstream', NULL, model
    FROM serving_records
    WHERE layer = 'gateway' AND address IS NOT NULL
)
SELECT make_timestamptz(epoch_hour * 3600000000) AS window_start, *
FROM found
WHERE name IS NOT NULL AND name <> '' AND (evidence NOT IN ('resource', 'labels') OR name <> replica)
