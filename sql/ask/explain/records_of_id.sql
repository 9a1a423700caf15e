-- description: Records by an id of their response, trace or span: `key` as it was given, `hex` in the letters in which ids are written
-- grain: record_id
-- reads: serving_records
SELECT record_id FROM serving_records WHERE response_id = $key OR $hex IN (trace_id, span_id)
