-- description: Serving records without copies: of equal record_ids the one from the smallest source_id stays (semantics 9)
-- grain: record_id
WITH copied AS (
    SELECT record_id, min(source_id) AS source_id
    FROM serving_records
    GROUP BY record_id
    HAVING count(*) > 1
)
SELECT r.*
FROM serving_records AS r
LEFT JOIN copied AS c USING (record_id)
WHERE c.record_id IS NULL OR c.source_id = r.source_id
