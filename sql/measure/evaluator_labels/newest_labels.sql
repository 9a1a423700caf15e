-- description: Labels in their last revision of each evaluator's newest day of 20 or more (where no day has as many: its newest day), and whether they judge a request or session
-- grain: label_id
-- reads: label_records, quality_labels
-- only the last days that have labels are loaded, and the hours of requests that these may judge
WITH revised AS (
    SELECT *, labelled_ns // 86400000000000 AS day
    FROM label_records
    QUALIFY row_number() OVER (PARTITION BY label_id ORDER BY coalesce(revised_ns, labelled_ns) DESC, record_id DESC, source_id) = 1
),
counted AS (
    SELECT evaluator, day, count(*) AS labels FROM revised GROUP BY ALL
),
chosen AS (
    SELECT evaluator, day FROM counted QUALIFY row_number() OVER (PARTITION BY evaluator ORDER BY labels >= 20 DESC, day DESC) = 1
)
SELECT
    l.label_id, l.evaluator, l.day, l.labelled_ns,
    CASE
        WHEN l.subject_kind = 'trace' THEN l.subject_id
        WHEN l.subject_kind = 'span' AND contains(l.subject_id, ':') THEN split_part(l.subject_id, ':', 1)
    END AS trace_id,
    CASE l.subject_kind WHEN 'response' THEN l.subject_id ELSE l.response_id END AS response_id,
    CASE WHEN l.subject_kind = 'request' THEN l.subject_id END AS request_key,
    -- a session is judged by whatever names it
    l.subject_kind = 'session' OR l.label_id IN (SELECT label_id FROM quality_labels) AS is_joined
FROM revised AS l
JOIN chosen USING (evaluator, day)
