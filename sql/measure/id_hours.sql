-- description: In which hours an id occurs, so that a search for one request looks into no others
-- grain: id_hash, epoch_hour, as often as it occurs: `id_hours.py` keeps each once, which sorts numbers faster than hashing them here
-- reads: attempts, cost_ledger, serving_records
-- kind: view
-- hours are those of the partitions in which the rows lie; an attempt's is that of its request
WITH keys AS (
    SELECT request_key, part_hour FROM attempts WHERE request_key <> attempt_id -- else it is an id of its record
),
-- an attempt of one record in the hour of that record has no other ids than the record
further AS (
    SELECT attempt_id, record_ids, response_id, trace_id, span_id, part_hour
    FROM attempts
    WHERE len(record_ids) > 1 OR part_hour <> coalesce(ended_ns, started_ns) // 3600000000000
),
records AS (
    SELECT record_id, response_id, trace_id, span_id, coalesce(ended_ns, started_ns) // 3600000000000 AS part_hour
    FROM serving_records
),
-- column by column: lists of the ids of a row, unnested, take half as long again
occurrences AS (
    SELECT request_key AS id, part_hour FROM keys
    UNION ALL
    SELECT attempt_id, part_hour FROM further
    UNION ALL
    SELECT unnest(record_ids), part_hour FROM further
    UNION ALL
    SELECT response_id, part_hour FROM further
    UNION ALL
    SELECT trace_id, part_hour FROM further
    UNION ALL
    SELECT span_id, part_hour FROM further
    UNION ALL
    SELECT record_id, part_hour FROM records
    UNION ALL
    SELECT response_id, part_hour FROM records
    UNION ALL
    SELECT trace_id, part_hour FROM records
    UNION ALL
    SELECT span_id, part_hour FROM records
    UNION ALL
    SELECT request_key, epoch_us(window_start) // 3600000000 FROM cost_ledger WHERE usd IS NOT NULL
)
SELECT id_hash(id) AS id_hash, part_hour::INTEGER AS epoch_hour
FROM occurrences
WHERE id IS NOT NULL
