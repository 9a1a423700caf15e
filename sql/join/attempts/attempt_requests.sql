-- description: Every attempt with the request that it is a try of, and its order in it (docs/semantics.md#which-tries-are-one-request)
-- grain: attempt_id
-- reads: attempt_facts, request_tries
-- kind: view
SELECT
    f.* EXCLUDE (request_key),
    coalesce(t.request_id, f.attempt_id) AS request_id,
    coalesce(t.request_key, f.attempt_id) AS request_key,
    coalesce(t.retried, false) AS retried,
    coalesce(t.attempt_index, 0) AS attempt_index,
    -- an attempt with an outcome is over, even where its end was not recorded
    coalesce(f.ended_ns, CASE WHEN f.outcome <> 'unknown' THEN coalesce(f.first_token_ns, f.started_ns) END) AS over_ns
FROM attempt_facts AS f
LEFT JOIN request_tries AS t USING (attempt_id)
