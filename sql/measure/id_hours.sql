-- description: In which hours an id occurs, so that a search for one request looks into no others
-- grain: id_hash, epoch_hour
-- reads: attempts, cost_ledger, requests, serving_records
-- hours are those of the partitions in which the rows lie
WITH occurrences AS (
    SELECT
        unnest(list_concat([request_key, a.attempt_id, a.response_id, a.trace_id, a.span_id], a.record_ids)) AS id,
        epoch_us(coalesce(r.ended_at, r.arrived_at)) // 3600000000 AS epoch_hour
    FROM attempts AS a
    JOIN requests AS r USING (request_key)
    UNION ALL
    SELECT
        unnest([record_id, response_id, trace_id, span_id]) AS id,
        coalesce(ended_ns, started_ns) // 3600000000000 AS epoch_hour
    FROM serving_records
    UNION ALL
    SELECT request_key AS id, epoch_us(window_start) // 3600000000 AS epoch_hour
    FROM cost_ledger
    WHERE usd IS NOT NULL
)
SELECT DISTINCT id_hash(id) AS id_hash, epoch_hour::INTEGER AS epoch_hour
FROM occurrences
WHERE id IS NOT NULL
