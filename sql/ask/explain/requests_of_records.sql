-- description: Requests of which an attempt was made from one of the records `records`
-- grain: request_key
-- reads: attempts
SELECT DISTINCT request_key FROM attempts WHERE list_has_any(record_ids, $records)
