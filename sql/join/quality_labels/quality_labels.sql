-- description: Labels joined to the requests that they judge, with the workload's verdict on each (docs/semantics.md#labels)
-- grain: label_id
-- reads: label_records, options, request_attempts, unique_records, workload_rules
WITH unique_labels AS (
    SELECT * FROM label_records
    QUALIFY row_number() OVER (PARTITION BY record_id ORDER BY source_id) = 1
),
revised AS (
    SELECT * FROM unique_labels
    QUALIFY row_number() OVER (PARTITION BY label_id ORDER BY coalesce(revised_ns, labelled_ns) DESC, record_id DESC) = 1
),
attempts AS (
    SELECT * FROM request_attempts WHERE EXISTS (FROM label_records)
),
judged AS (
    SELECT request_id, request_key, request_arrived_ns, request_ended_ns, workload FROM attempts WHERE delivered
),
-- a span is named by its trace and its own id, or by its own id alone
named_spans AS (
    SELECT
        label_id,
        CASE WHEN contains(subject_id, ':') THEN split_part(subject_id, ':', 1) END AS trace_id,
        split_part(subject_id, ':', -1) AS span_id
    FROM revised
    WHERE subject_kind = 'span'
),
record_requests AS (
    SELECT unnest(record_ids) AS record_id, request_id, trace_id FROM attempts
),
-- every way to find the judged request, surest first; a way that leads to two requests leads to none
ways AS (
    SELECT l.label_id, 1 AS way, q.request_id
    FROM revised AS l JOIN record_requests AS q ON l.subject_kind = 'span' AND q.record_id = l.subject_id
    UNION ALL
    SELECT l.label_id, 1, q.request_id
    FROM revised AS l
    JOIN unique_records AS r ON l.subject_kind = 'span' AND r.span_id = l.subject_id AND NOT contains(l.subject_id, ':')
    JOIN record_requests AS q ON q.record_id = r.record_id
    UNION ALL
    SELECT l.label_id, 2, q.request_id
    FROM revised AS l
    JOIN unique_records AS r ON r.response_id = CASE l.subject_kind WHEN 'response' THEN l.subject_id ELSE l.response_id END
    JOIN record_requests AS q ON q.record_id = r.record_id
    UNION ALL
    SELECT l.label_id, 3, q.request_id
    FROM revised AS l JOIN judged AS q ON l.subject_kind = 'request' AND q.request_key = l.subject_id
    UNION ALL
    -- a span that was not collected: by what was called from it, else by its trace
    SELECT l.label_id, 4, q.request_id
    FROM named_spans AS l
    JOIN unique_records AS r ON r.parent_span_id = l.span_id AND r.trace_id = coalesce(l.trace_id, r.trace_id)
    JOIN record_requests AS q ON q.record_id = r.record_id
    UNION ALL
    SELECT l.label_id, 5, q.request_id
    FROM named_spans AS l JOIN record_requests AS q USING (trace_id)
    UNION ALL
    SELECT l.label_id, 5, q.request_id
    FROM revised AS l JOIN record_requests AS q ON l.subject_kind = 'trace' AND q.trace_id = l.subject_id
),
found AS (
    SELECT label_id, arg_min(request_id, way) AS request_id
    FROM (
        SELECT label_id, way, min(request_id) AS request_id
        FROM ways
        GROUP BY label_id, way
        HAVING count(DISTINCT request_id) = 1
    )
    GROUP BY label_id
)
SELECT
    l.label_id,
    l.subject_kind,
    l.subject_id,
    q.request_id,
    q.request_key,
    q.workload,
    l.evaluator,
    l.score,
    l.label,
    coalesce(
        l.passed,
        l.score >= w.min_score,
        CASE WHEN w.has_quality THEN list_contains(w.pass_labels, lower(l.label)) END
    ) AS passed,
    l.plan_id,
    at_utc(l.labelled_ns) AS labelled_at,
    l.withdrawn,
    NOT l.withdrawn AND row_number() OVER (
        PARTITION BY q.request_id, l.evaluator ORDER BY l.withdrawn, coalesce(l.revised_ns, l.labelled_ns) DESC, l.label_id DESC
    ) = 1 AS current,
    l.source_id AS source,
    coalesce(at_utc(q.request_ended_ns), at_utc(q.request_arrived_ns)) AS request_at,
    l.line
FROM revised AS l
JOIN found AS f USING (label_id)
JOIN judged AS q ON q.request_id = f.request_id
CROSS JOIN options AS o
LEFT JOIN workload_rules AS w USING (workload)
-- only within the time that a label may count, whatever other hours are loaded
WHERE l.labelled_ns >= q.request_arrived_ns - o.max_request_lifetime_ns
    AND l.labelled_ns <= coalesce(q.request_ended_ns, q.request_arrived_ns) + o.label_lateness_ns
