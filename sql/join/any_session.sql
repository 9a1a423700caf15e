-- description: Whether any serving record, or span above one, names a session: without one, requests need not be looked through for theirs
-- grain: one row, none without a session
-- reads: reported_above, serving_records
SELECT true AS is_named
FROM (
    SELECT session_id FROM serving_records
    UNION ALL
    SELECT session_id FROM reported_above
)
WHERE session_id IS NOT NULL
LIMIT 1
