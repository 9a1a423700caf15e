-- description: Labels in their current revision that judge no request or session, and why (docs/semantics.md#labels)
-- grain: label_id
-- reads: attempts, label_records, quality_labels, serving_records
-- kind: view
WITH revised AS (
    SELECT * FROM label_records
    QUALIFY row_number() OVER (PARTITION BY label_id ORDER BY coalesce(revised_ns, labelled_ns) DESC, record_id DESC, source_id) = 1
),
unjoined AS (
    SELECT l.* FROM revised AS l ANTI JOIN quality_labels USING (label_id)
),
named AS (
    SELECT
        label_id,
        CASE
            WHEN subject_kind = 'trace' THEN subject_id
            WHEN subject_kind = 'span' AND contains(subject_id, ':') THEN split_part(subject_id, ':', 1)
        END AS trace_id,
        CASE subject_kind WHEN 'response' THEN subject_id ELSE response_id END AS response_id,
        CASE WHEN subject_kind = 'request' THEN subject_id END AS request_key
    FROM unjoined
),
answers AS (
    SELECT n.label_id, r.record_id FROM named AS n JOIN serving_records AS r USING (response_id)
),
meant AS (
    SELECT n.label_id, a.request_key FROM named AS n JOIN attempts AS a USING (trace_id)
    UNION
    SELECT n.label_id, a.request_key
    FROM answers AS n
    JOIN (
        SELECT request_key, unnest(record_ids) AS record_id
        FROM attempts
        WHERE list_has_any(record_ids, (SELECT list(record_id) FROM answers))
    ) AS a USING (record_id)
    UNION
    SELECT n.label_id, a.request_key FROM named AS n JOIN attempts AS a USING (request_key)
),
counted AS (
    SELECT label_id, count(DISTINCT request_key) AS requests FROM meant GROUP BY label_id
)
SELECT
    l.label_id, l.subject_kind, l.subject_id, l.response_id, l.evaluator,
    make_timestamptz(l.labelled_ns // 1000) AS labelled_at,
    coalesce(c.requests, 0) AS requests,
    CASE
        WHEN c.requests IS NULL THEN 'not_collected'
        WHEN c.requests > 1 THEN 'several_requests'
        ELSE 'out_of_time'
    END AS reason,
    l.source_id AS source,
    l.line
FROM unjoined AS l
LEFT JOIN counted AS c USING (label_id)
