-- description: Records that their trace places right below a caller though what a gateway logged without a span stands between them: each with the record between (docs/semantics.md#one-attempt-several-records)
-- grain: child_id
-- reads: record_matches, record_parents, unique_records
WITH between_them AS ( -- what an id placed below a record that has others below it by their trace
    SELECT m.record_id AS between_id, p.child_id
    FROM record_matches AS m
    JOIN record_parents AS p ON p.parent_id = m.match_id
    WHERE NOT m.beside
),
facts AS (
    SELECT
        record_id, call_id, response_id, input_tokens, started_ns,
        coalesce(ended_ns, started_ns) AS over_ns,
        coalesce(covers_tries, false) AS covers_tries,
        coalesce(reported_attempts, 1) AS reported_attempts,
        layer_depth(layer) AS depth
    FROM unique_records
    WHERE record_id IN (SELECT between_id FROM between_them UNION ALL SELECT child_id FROM between_them)
),
candidates AS (
    SELECT
        b.child_id, b.between_id, h.depth, h.covers_tries, h.reported_attempts,
        shares_call(a, h) AS shares_id,
        least(a.over_ns, h.over_ns) - greatest(a.started_ns, h.started_ns) AS overlap_ns,
        abs(a.started_ns - h.started_ns) AS apart_ns
    FROM between_them AS b
    JOIN facts AS a ON a.record_id = b.child_id
    JOIN facts AS h ON h.record_id = b.between_id
    WHERE may_lie_below(a, h)
),
nearest AS (
    SELECT *
    FROM candidates
    QUALIFY row_number() OVER (
        PARTITION BY child_id ORDER BY shares_id DESC, depth DESC, covers_tries, overlap_ns DESC, apart_ns, between_id) = 1
)
SELECT child_id, between_id
FROM nearest
-- as below siblings (`layer_views`): what lies in its time beyond the tries that it made is another call
QUALIFY shares_id OR covers_tries
    OR row_number() OVER (PARTITION BY between_id ORDER BY shares_id DESC, overlap_ns DESC, apart_ns, child_id) <= reported_attempts
