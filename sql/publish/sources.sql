-- description: Every source file with how it was read and what became of its rows (identity R, docs/semantics.md#sources)
-- grain: source_id
-- reads: cost_line_rows, label_rows, record_rows, sample_rows, source_ledger, source_rows
-- identity: R: rows_read = rows_kept + rows_duplicate + rows_quarantined + rows_ignored
WITH used AS (
    SELECT source_id, sum(records) AS records, sum(duplicates) AS duplicates
    FROM (
        SELECT source_id, records, duplicates FROM source_rows
        UNION ALL
        SELECT source_id, records, duplicates FROM sample_rows
        UNION ALL
        SELECT source_id, records, duplicates FROM label_rows
        UNION ALL
        SELECT source_id, records, duplicates FROM record_rows
        UNION ALL
        SELECT source_id, records, duplicates FROM cost_line_rows
    )
    GROUP BY source_id
),
accounted AS (
    SELECT source_id, epoch_hour, 'serving_records' AS name FROM source_rows
    UNION ALL
    SELECT source_id, epoch_hour, 'sample_records' FROM sample_rows
    UNION ALL
    SELECT source_id, epoch_hour, 'label_records' FROM label_rows
    UNION ALL
    SELECT source_id, epoch_hour, unnest(['event_records', 'price_lines']) FROM record_rows
    UNION ALL
    SELECT source_id, epoch_hour, 'cost_lines' FROM cost_line_rows
),
held AS ( -- the hours of each source, one without number for what has no hours
    SELECT source_id, name, epoch(try_strptime(unnest(partitions[name]), '%Y-%m-%dT%H'))::BIGINT // 3600 AS epoch_hour
    FROM (
        SELECT source_id, partitions, unnest(map_keys(partitions)) AS name
        FROM (
            SELECT source_id, json_transform(partitions, '"MAP(VARCHAR, VARCHAR[])"') AS partitions
            FROM source_ledger
        )
    )
    WHERE name IN ('serving_records', 'sample_records', 'label_records', 'cost_lines', 'event_records', 'price_lines')
),
pending AS (
    SELECT DISTINCT h.source_id
    FROM held AS h
    ANTI JOIN accounted AS a
        ON a.source_id = h.source_id AND a.name = h.name AND a.epoch_hour IS NOT DISTINCT FROM h.epoch_hour
),
rules AS (
    SELECT l.source_id, CASE WHEN c.unused <> '{}' THEN json_merge_patch(l.ignored, c.unused)::VARCHAR ELSE l.ignored END AS ignored
    FROM source_ledger AS l
    LEFT JOIN cost_line_rows AS c USING (source_id)
),
left_out AS (
    SELECT source_id, ignored, list_sum(map_values(json_transform(ignored, '"MAP(VARCHAR, BIGINT)"')))::BIGINT AS rows
    FROM rules
)
SELECT
    l.source_id,
    l.path,
    l.landing,
    l.reader,
    l.status,
    l.reason,
    l.size_bytes,
    l.rows_read,
    coalesce(u.records - u.duplicates, 0)::BIGINT AS rows_kept,
    (l.rows_duplicate + coalesce(u.duplicates, 0))::BIGINT AS rows_duplicate,
    l.rows_quarantined,
    coalesce(i.rows, 0) AS rows_ignored,
    i.ignored,
    l.torn_tail_bytes,
    l.unread_bytes,
    p.source_id IS NOT NULL AS is_pending,
    make_timestamptz(l.first_event_ns // 1000) AS first_event_at,
    make_timestamptz(l.last_event_ns // 1000) AS last_event_at,
    make_timestamptz(l.ingested_ns // 1000) AS ingested_at
FROM source_ledger AS l
LEFT JOIN used AS u USING (source_id)
LEFT JOIN left_out AS i USING (source_id)
LEFT JOIN pending AS p ON p.source_id = l.source_id
