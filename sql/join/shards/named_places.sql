-- description: Every id by which a row may belong to rows of another place: calls, answers, request keys, copies, what labels name (docs/scale.md#an-hour-that-is-cut)
-- grain: place, id
-- reads: label_records, match_options, serving_records
-- kind: view
WITH labels AS (
    SELECT label_place(label_id) AS place, record_id, subject_kind, subject_id, response_id FROM label_records
),
named_spans AS (
    SELECT subject_id AS span_id FROM label_records WHERE subject_kind = 'span' AND NOT contains(subject_id, ':')
),
named_traces AS (
    SELECT CASE subject_kind WHEN 'trace' THEN subject_id ELSE split_part(subject_id, ':', 1) END AS trace_id
    FROM label_records
    WHERE subject_kind = 'trace' OR subject_kind = 'span' AND contains(subject_id, ':')
),
named_records AS (
    SELECT subject_id AS record_id FROM label_records WHERE subject_kind IN ('span', 'request')
    UNION ALL
    SELECT record_id FROM serving_records
    WHERE hash(record_id) IN (SELECT hash(record_id) FROM serving_records GROUP BY ALL HAVING count(*) > 1)
),
records AS (
    SELECT
        record_place(trace_id, record_id) AS place, record_id, trace_id, span_id, parent_span_id, call_id, response_id, request_key,
        instrumentation, model, headers_ns, scope_of(attributes, (SELECT within FROM match_options)) AS scope
    FROM serving_records
)
SELECT place, hash('call', text_hash(call_id)) AS id FROM records WHERE call_id IS NOT NULL
UNION ALL
SELECT place, hash('answer', text_hash(response_id)) FROM records WHERE response_id IS NOT NULL
UNION ALL
SELECT place, hash('key', text_hash(request_key)) FROM records WHERE request_key IS NOT NULL
UNION ALL
SELECT place, hash('record', text_hash(record_id)) FROM records SEMI JOIN named_records USING (record_id)
UNION ALL
SELECT place, place FROM records SEMI JOIN named_traces USING (trace_id)
UNION ALL
SELECT place, hash('span', text_hash(span_id)) FROM records SEMI JOIN named_spans USING (span_id)
UNION ALL
SELECT place, hash('span', text_hash(parent_span_id)) FROM records SEMI JOIN named_spans ON named_spans.span_id = records.parent_span_id
UNION ALL
-- siblings below a span whose trace is not known
SELECT place, hash('parent', text_hash(parent_span_id)) FROM records WHERE trace_id IS NULL AND parent_span_id IS NOT NULL
UNION ALL
-- halves of calls outside any span are put together in the order of all of their emitter's and scope's (record_halves)
SELECT place, hash('halves', concat_ws('|', instrumentation, model, scope))
FROM records
WHERE headers_ns IS NOT NULL AND (trace_id IS NULL OR parent_span_id IS NULL)
UNION ALL
SELECT place, hash('label record', text_hash(record_id)) FROM labels
UNION ALL
SELECT place, hash('record', text_hash(subject_id)) FROM labels WHERE subject_kind IN ('span', 'request')
UNION ALL
SELECT place, hash('span', text_hash(subject_id)) FROM labels WHERE subject_kind = 'span' AND NOT contains(subject_id, ':')
UNION ALL
SELECT place, trace_place(split_part(subject_id, ':', 1)) FROM labels WHERE subject_kind = 'span' AND contains(subject_id, ':')
UNION ALL
SELECT place, trace_place(subject_id) FROM labels WHERE subject_kind = 'trace'
UNION ALL
SELECT place, hash('key', text_hash(subject_id)) FROM labels WHERE subject_kind = 'request'
UNION ALL
SELECT place, hash('answer', text_hash(CASE subject_kind WHEN 'response' THEN subject_id ELSE response_id END))
FROM labels
WHERE subject_kind = 'response' OR response_id IS NOT NULL
