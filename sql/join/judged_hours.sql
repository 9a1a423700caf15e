-- description: Hours in which the labels of each source and hour may judge requests: those of the records that they can be joined to; NULL where they judge none so far
-- grain: label_epoch_hour, source_id, epoch_hour
-- reads: label_records, serving_records
WITH labels AS (
    SELECT source_id, labelled_ns // 3600000000000 AS label_epoch_hour, subject_kind, subject_id, response_id FROM label_records
),
records AS (
    SELECT record_id, span_id, parent_span_id, trace_id, request_key, response_id, coalesce(ended_ns, started_ns) // 3600000000000 AS epoch_hour
    FROM serving_records
),
judged AS (
    SELECT l.source_id, l.label_epoch_hour, r.epoch_hour
    FROM labels AS l JOIN records AS r ON r.record_id = l.subject_id
    WHERE l.subject_kind IN ('span', 'request')
    UNION ALL
    SELECT l.source_id, l.label_epoch_hour, r.epoch_hour
    FROM labels AS l JOIN records AS r ON r.span_id = l.subject_id
    WHERE l.subject_kind = 'span' AND NOT contains(l.subject_id, ':')
    UNION ALL
    SELECT l.source_id, l.label_epoch_hour, r.epoch_hour
    FROM labels AS l JOIN records AS r ON r.response_id = CASE l.subject_kind WHEN 'response' THEN l.subject_id ELSE l.response_id END
    UNION ALL
    SELECT l.source_id, l.label_epoch_hour, r.epoch_hour
    FROM labels AS l JOIN records AS r ON r.request_key = l.subject_id
    WHERE l.subject_kind = 'request'
    UNION ALL
    SELECT l.source_id, l.label_epoch_hour, r.epoch_hour
    FROM labels AS l JOIN records AS r ON r.trace_id = l.subject_id
    WHERE l.subject_kind = 'trace'
)
SELECT label_epoch_hour, source_id, epoch_hour FROM judged
UNION
SELECT label_epoch_hour, source_id, NULL FROM (
    SELECT DISTINCT label_epoch_hour, source_id FROM labels
) ANTI JOIN judged USING (label_epoch_hour, source_id)
