-- description: Which records are one attempt: a record and the try below it whose answer it passed on, layer by layer; other tries below it are attempts of their own (docs/semantics.md#one-attempt-several-records)
-- grain: record_id
-- reads: record_insertions, record_matches, record_parents, unique_records
WITH RECURSIVE below AS (
    SELECT p.child_id, coalesce(i.between_id, p.parent_id) AS parent_id, p.started_ns, p.succeeded
    FROM record_parents AS p
    LEFT JOIN record_insertions AS i USING (child_id)
    UNION ALL
    SELECT m.record_id, m.match_id, r.started_ns, r.outcome = 'ok'
    FROM record_matches AS m
    JOIN unique_records AS r USING (record_id)
    WHERE NOT m.beside
),
-- Several tries that answered: one that began after another had ended superseded it. Of those that ran at once, the one
-- with which the record above them ended was passed on, as far as its end is known the first.
answered AS (
    SELECT child_id, parent_id, started_ns, max(started_ns) OVER (PARTITION BY parent_id) AS last_started_ns
    FROM below
    WHERE succeeded
        AND hash(parent_id) IN (SELECT hash(parent_id) FROM below WHERE succeeded GROUP BY ALL HAVING count(*) > 1)
),
passed_on AS (
    SELECT a.child_id
    FROM answered AS a
    JOIN unique_records AS c ON c.record_id = a.child_id
    JOIN unique_records AS p ON p.record_id = a.parent_id
    QUALIFY row_number() OVER (
        PARTITION BY a.parent_id
        ORDER BY is_superseded(a.started_ns, c.ended_ns, a.last_started_ns), abs(c.ended_ns - p.ended_ns) NULLS LAST,
            c.ended_ns NULLS LAST, a.started_ns DESC, a.child_id DESC) = 1
),
children AS (
    SELECT
        child_id,
        parent_id,
        row_number() OVER (
            PARTITION BY parent_id
            ORDER BY succeeded DESC, child_id IN (FROM passed_on) DESC, started_ns DESC, child_id DESC) = 1 AS is_passed_on
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
    SELECT c.child_id, CASE WHEN c.is_passed_on THEN p.head_id ELSE c.child_id END, p.root_id, p.depth + 1
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
