-- description: Requests by an id of one of their attempts: `key` as it was given, `hex` in the letters in which ids are written
-- grain: request_key
-- reads: attempts
SELECT DISTINCT request_key
FROM attempts
WHERE $key IN (attempt_id, response_id) OR $hex IN (attempt_id, trace_id, span_id)
    OR list_contains(record_ids, $key) OR list_contains(record_ids, $hex)
