-- description: Which records are one attempt: a record and the try below it whose answer it passed on, layer by layer; other tries below it are attempts of their own (docs/semantics.md#one-attempt-several-records)
-- grain: record_id
-- reads: record_matches, record_parents, unique_records
WITH RECURSIVE below AS (
    SELECT child_id, parent_id, started_ns, succeeded FROM record_parents
    UNION ALL
    SELECT m.record_id, m.match_id, r.started_ns, r.outcome = 'ok'
    FROM record_matches AS m
    JOIN unique_records AS r USING (record_id)
    WHERE NOT m.beside
),
children AS (
    SELECT
        child_id,
        parent_id,
        -- the last one that succeeded, else the last
        row_number() OVER (PARTITION BY parent_id ORDER BY succeeded DESC, started_ns DESC, child_id DESC) = 1 AS is_last
    FROM below
),
roots AS (
    SELECT record_id FROM (
        SELECT parent_id AS record_id FROM below
        UNION
        SELECT match_id FROM record_matches
    )
    WHERE record_id NOT IN (SELECT child_id FROM below)
),
chains AS (
    SELECT record_id, record_id AS head_id, record_id AS root_id, 0::DOUBLE AS depth FROM roots
    UNION ALL
    SELECT c.child_id, CASE WHEN c.is_last THEN p.head_id ELSE c.child_id END, p.root_id, p.depth + 1
    FROM chains AS p
    JOIN children AS c ON c.parent_id = p.record_id
)
SELECT * FROM chains
UNION ALL
-- records of the same try stand right behind it, in an order
SELECT
    m.record_id, c.head_id, c.root_id,
    c.depth + 1 - 1 / (1 + row_number() OVER (PARTITION BY m.match_id ORDER BY m.record_id))
FROM record_matches AS m
JOIN chains AS c ON c.record_id = m.match_id
WHERE m.beside
