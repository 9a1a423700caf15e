-- description: Which records are one attempt: a record and the last try below it, layer by layer; earlier tries below it are attempts of their own (semantics 1)
-- grain: record_id
WITH RECURSIVE children AS (
    SELECT
        child_id,
        parent_id,
        row_number() OVER (PARTITION BY parent_id ORDER BY started_ns DESC, child_id DESC) = 1 AS is_last
    FROM record_parents
),
roots AS (
    SELECT DISTINCT parent_id AS record_id FROM record_parents
    WHERE parent_id NOT IN (SELECT child_id FROM record_parents)
),
chains AS (
    SELECT record_id, record_id AS head_id, record_id AS root_id, 0 AS depth FROM roots
    UNION ALL
    SELECT c.child_id, CASE WHEN c.is_last THEN p.head_id ELSE c.child_id END, p.root_id, p.depth + 1
    FROM chains AS p
    JOIN children AS c ON c.parent_id = p.record_id
)
SELECT * FROM chains
