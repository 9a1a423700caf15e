-- description: Records of callers that lie within the record of another instrumentation, in another trace, with the same response id: both wrote the same call (docs/semantics.md#one-attempt-several-records)
-- grain: record_id, outer_instrumentation
-- reads: serving_records
-- Each hour by itself, whatever other hours are loaded.
WITH callers AS (
    SELECT record_id, instrumentation, trace_id, response_id, model, input_tokens, output_tokens, outcome, started_ns, ended_ns
    FROM serving_records
    WHERE layer = 'client' AND instrumentation IS NOT NULL AND ended_ns IS NOT NULL AND response_id IS NOT NULL
        AND (SELECT count(DISTINCT instrumentation) > 1 FROM serving_records WHERE layer = 'client')
)
SELECT DISTINCT
    i.record_id, i.instrumentation, o.instrumentation AS outer_instrumentation, i.ended_ns // 3600000000000 AS epoch_hour
FROM callers AS i
JOIN callers AS o ON o.response_id = i.response_id AND o.instrumentation <> i.instrumentation AND o.trace_id <> i.trace_id
    AND o.ended_ns // 3600000000000 = i.ended_ns // 3600000000000
    AND coalesce(o.model = i.model, true)
    AND (o.outcome = 'ok') = (i.outcome = 'ok')
    AND o.input_tokens IS NOT DISTINCT FROM i.input_tokens AND o.output_tokens IS NOT DISTINCT FROM i.output_tokens
WHERE (o.started_ns, -o.ended_ns, o.record_id) < (i.started_ns, -i.ended_ns, i.record_id)
    AND surrounds(o.started_ns, o.ended_ns, i.started_ns, i.ended_ns)
