-- description: Tries that do not say what was asked, and have no record above them that does: of traffic that generates nothing, or whose request was not collected
-- grain: record_id
-- reads: serving_records
SELECT DISTINCT t.record_id
FROM serving_records AS t
ANTI JOIN serving_records AS p ON p.trace_id = t.trace_id AND p.span_id = t.parent_span_id
WHERE t.needs_parent
