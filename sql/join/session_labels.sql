-- description: Judgements of whole sessions in their current revision (docs/semantics.md#labels); a verdict that only a workload could give is unknown
-- grain: label_id
-- reads: session_label_records
WITH revised AS (
    SELECT * FROM session_label_records
    QUALIFY row_number() OVER (
        PARTITION BY label_id ORDER BY coalesce(revised_ns, labelled_ns) DESC, record_id DESC, source_id
    ) = 1
)
SELECT
    label_id,
    subject_kind,
    subject_id,
    NULL::VARCHAR AS request_key,
    NULL::VARCHAR AS workload,
    NULL::TIMESTAMPTZ AS request_at,
    evaluator,
    score,
    label,
    passed,
    plan_id,
    at_utc(labelled_ns) AS labelled_at,
    withdrawn,
    NOT withdrawn AND row_number() OVER (
        PARTITION BY subject_id, evaluator ORDER BY withdrawn, coalesce(revised_ns, labelled_ns) DESC, label_id DESC
    ) = 1 AS current,
    source_id AS source,
    line
FROM revised
