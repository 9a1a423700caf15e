-- description: Parallel answers to one prompt (n > 1), which an engine records with the same id, start and prompt: all but the last to end, each with that last one
-- grain: record_id
-- reads: unique_records
SELECT record_id, first_value(record_id) OVER one_call AS choice_of
FROM unique_records
WHERE layer = 'engine' AND call_id IS NOT NULL
    AND hash(call_id) IN (
        SELECT hash(call_id) FROM unique_records WHERE layer = 'engine' AND call_id IS NOT NULL GROUP BY ALL HAVING count(*) > 1
    )
WINDOW one_call AS (
    PARTITION BY call_id, dialect, started_ns, input_tokens, parent_span_id
    ORDER BY coalesce(ended_ns, started_ns) DESC, output_tokens DESC, record_id
)
QUALIFY record_id <> choice_of
