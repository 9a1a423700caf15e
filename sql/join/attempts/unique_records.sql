-- description: Serving records without copies and without tries of no request, with as many tries as the spans below them mark, what spans above them tell, and not streamed where their emitter would have recorded that
-- grain: record_id
-- reads: counted_tries, detached_tries, record_copies, reported_above, serving_records, streaming_emitters
-- kind: view
SELECT r.* REPLACE (
    coalesce(greatest(r.reported_attempts, t.tries), r.reported_attempts, t.tries) AS reported_attempts,
    CASE
        WHEN r.streamed IS NULL AND r.layer = 'client' AND r.outcome = 'ok' AND r.first_token_ns IS NULL
            AND (coalesce(r.ended_ns, r.started_ns) // 3600000000000, r.instrumentation) IN (FROM streaming_emitters)
            THEN false
        ELSE r.streamed
    END AS streamed,
    coalesce(r.session_id, a.session_id) AS session_id,
    coalesce(a.failed.outcome, r.outcome) AS outcome,
    coalesce(r.error_type, a.failed.error_type) AS error_type
)
FROM serving_records AS r
ANTI JOIN record_copies AS c ON c.record_id = r.record_id AND c.source_id = r.source_id
ANTI JOIN detached_tries AS d ON d.record_id = r.record_id
LEFT JOIN counted_tries AS t ON t.record_id = r.record_id
LEFT JOIN reported_above AS a ON a.record_id = r.record_id
