-- description: Hours in which the labels of a source may judge requests: those of the records that they can be joined to; none where they judge none so far
-- grain: source_id, epoch_hour
-- reads: label_records, serving_records
WITH judged AS (
    SELECT l.source_id, r.ended_ns, r.started_ns
    FROM label_records AS l JOIN serving_records AS r ON l.subject_kind = 'span' AND r.record_id = l.subject_id
    UNION ALL
    SELECT l.source_id, r.ended_ns, r.started_ns
    FROM label_records AS l JOIN serving_records AS r
        ON l.subject_kind = 'span' AND r.span_id = l.subject_id AND NOT contains(l.subject_id, ':')
    UNION ALL
    SELECT l.source_id, r.ended_ns, r.started_ns
    FROM label_records AS l JOIN serving_records AS r
        ON r.response_id = CASE l.subject_kind WHEN 'response' THEN l.subject_id ELSE l.response_id END
    UNION ALL
    SELECT l.source_id, r.ended_ns, r.started_ns
    FROM label_records AS l JOIN serving_records AS r
        ON l.subject_kind = 'request' AND l.subject_id IN (r.request_key, r.record_id)
    UNION ALL
    SELECT l.source_id, r.ended_ns, r.started_ns
    FROM label_records AS l JOIN serving_records AS r ON l.subject_kind = 'trace' AND r.trace_id = l.subject_id
)
SELECT DISTINCT l.source_id, coalesce(j.ended_ns, j.started_ns) // 3600000000000 AS epoch_hour
FROM label_records AS l
LEFT JOIN judged AS j USING (source_id)
