-- description: Copies of serving records that do not count: of equal record_ids the one from the smallest source_id stays (docs/semantics.md#one-attempt-several-records)
-- grain: record_id, source_id
-- reads: serving_records
SELECT r.record_id, r.source_id
FROM serving_records AS r
JOIN (
    SELECT record_id, min(source_id) AS source_id
    FROM serving_records
    -- counting hashes takes half the CPU time and a fraction of the memory of counting ids, and leaves hardly any
    WHERE hash(record_id) IN (SELECT hash(record_id) FROM serving_records GROUP BY ALL HAVING count(*) > 1)
    GROUP BY record_id
    HAVING count(*) > 1
) AS kept ON kept.record_id = r.record_id AND kept.source_id <> r.source_id
