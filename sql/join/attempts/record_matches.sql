-- description: Records of one call that are linked by no parent but by an id, or the trace, that both carry: beside a record of the same try, else below the record that it is a try of (docs/semantics.md#one-attempt-several-records)
-- grain: record_id
-- reads: ranked_records, record_choices, record_halves, record_parents
WITH RECURSIVE traced AS (
    SELECT DISTINCT trace_id FROM ranked_records WHERE span_id IS NULL AND trace_id IS NOT NULL
),
ids AS (
    SELECT record_id, dialect, 'call:' || call_id AS id FROM ranked_records WHERE call_id IS NOT NULL
    UNION ALL
    SELECT record_id, dialect, 'answer:' || response_id FROM ranked_records WHERE response_id IS NOT NULL
    UNION ALL
    SELECT record_id, dialect, 'trace:' || trace_id FROM ranked_records SEMI JOIN traced USING (trace_id)
),
shared AS ( -- by more than a record and those right below it
    SELECT i.record_id, i.dialect, i.id
    FROM ids AS i
    WHERE i.id IN (
        SELECT n.id
        FROM ids AS n
        LEFT JOIN record_parents AS p ON p.child_id = n.record_id
        GROUP BY n.id
        HAVING min(n.dialect) <> max(n.dialect)
            AND min(coalesce(p.parent_id, n.record_id)) <> max(coalesce(p.parent_id, n.record_id))
    )
),
climb AS (
    SELECT DISTINCT record_id, record_id AS top_id, 0 AS steps FROM shared
    UNION ALL
    SELECT c.record_id, p.parent_id, c.steps + 1
    FROM climb AS c
    JOIN record_parents AS p ON p.child_id = c.top_id
    WHERE c.steps < 64
),
trees AS ( -- a loop of parents has no root, and so no tree: what stood below it would stand above it as well, without end
    SELECT c.record_id, c.top_id AS root_id, r.standing
    FROM climb AS c
    JOIN ranked_records AS r ON r.record_id = c.top_id
    WHERE c.top_id NOT IN (SELECT child_id FROM record_parents)
),
hosts AS ( -- a record without a parent, and a tree in which someone shares an id with it
    SELECT a.record_id, t.root_id
    FROM shared AS a
    JOIN shared AS b ON b.id = a.id AND b.dialect <> a.dialect
    JOIN trees AS t ON t.record_id = b.record_id
    JOIN trees AS own ON own.record_id = a.record_id AND own.root_id = a.record_id
    GROUP BY a.record_id, t.root_id
    -- not among the joins: DuckDB would join all pairs of records by it first
    HAVING any_value(t.standing) < any_value(own.standing)
),
members AS (
    SELECT DISTINCT root_id, root_id AS member_id FROM hosts
    UNION ALL
    SELECT m.root_id, p.child_id FROM members AS m JOIN record_parents AS p ON p.parent_id = m.member_id
),
candidates AS (
    SELECT
        h.record_id,
        m.member_id,
        abs(a.over_ns - b.over_ns) AS apart_ns,
        a.covers_tries = b.covers_tries AND a.layer = b.layer AND a.dialect <> b.dialect
            AND a.record_id NOT IN (SELECT parent_id FROM record_parents) AND apart_ns <= 1000000000 AS may_be_beside,
        b.depth < a.depth OR (b.covers_tries AND NOT a.covers_tries AND b.depth = a.depth) AS may_be_below,
        a.dialect, b.depth, b.covers_tries, b.started_ns, b.span_id IS NULL AS is_row, b.dialect AS of_dialect,
        -- clocks of two systems, and what each calls the start, differ a little
        a.started_ns BETWEEN b.started_ns - 1000000000 AND coalesce(b.ended_ns, a.started_ns) + 1000000000 AS is_within
    FROM hosts AS h
    JOIN members AS m USING (root_id)
    JOIN ranked_records AS a ON a.record_id = h.record_id
    JOIN ranked_records AS b ON b.record_id = m.member_id
),
beside AS ( -- each is the other's nearest in time; all tellings of a try stand beside the same one
    SELECT record_id, member_id
    FROM candidates
    WHERE may_be_beside
    QUALIFY row_number() OVER (PARTITION BY record_id ORDER BY is_row, CASE WHEN is_row THEN of_dialect END, apart_ns, member_id) = 1
        AND row_number() OVER (PARTITION BY member_id, dialect ORDER BY apart_ns, record_id) = 1
),
below AS (
    SELECT c.record_id, coalesce(b.member_id, c.member_id) AS member_id
    FROM candidates AS c
    ANTI JOIN beside AS own ON own.record_id = c.record_id
    LEFT JOIN beside AS b ON b.record_id = c.member_id
    WHERE may_be_below AND is_within
    QUALIFY row_number() OVER (
        PARTITION BY c.record_id ORDER BY c.depth DESC, c.covers_tries, c.started_ns DESC, c.member_id) = 1
),
-- A gateway with two tracers writes two spans of one call, and its tries are below only one of them: in one trace what
-- has no record above it belongs to the call that it ran in, if that call has no try.
adopted AS (
    SELECT b.record_id, a.record_id AS member_id
    FROM ranked_records AS a
    JOIN ranked_records AS b ON b.trace_id = a.trace_id AND b.record_id <> a.record_id AND b.depth >= a.depth
        AND (NOT b.covers_tries OR (b.parent_span_id = a.parent_span_id AND b.over_ns <= a.over_ns))
        AND b.started_ns >= a.started_ns AND b.started_ns <= a.over_ns
    WHERE a.covers_tries AND a.span_id IS NOT NULL AND b.span_id IS NOT NULL
        AND a.record_id NOT IN (SELECT parent_id FROM record_parents)
        AND b.record_id NOT IN (SELECT child_id FROM record_parents)
        AND b.record_id NOT IN (SELECT record_id FROM beside UNION ALL SELECT record_id FROM below)
    QUALIFY row_number() OVER (PARTITION BY b.record_id ORDER BY a.started_ns DESC, a.record_id) = 1
),
-- A gateway may log what it refused before any try without an id that its span has: the only refusal of that
-- status and scope within a span that tried nothing is the same one.
refusals AS (
    SELECT record_id, http_status, scope, started_ns, over_ns, started_ns // 1000000000 AS second
    FROM ranked_records
    WHERE span_id IS NULL AND layer = 'gateway' AND NOT covers_tries AND outcome <> 'ok' AND http_status >= 400
        AND record_id NOT IN (SELECT record_id FROM hosts)
),
untried AS (
    SELECT record_id, http_status, scope, started_ns, over_ns, over_ns - started_ns <= 600000000000 AS is_short
    FROM ranked_records
    WHERE span_id IS NOT NULL AND layer = 'gateway' AND covers_tries AND outcome <> 'ok' AND http_status >= 400
        AND record_id NOT IN (SELECT parent_id FROM record_parents)
),
seconds AS (
    SELECT *, unnest(range((started_ns - 5000000) // 1000000000, (over_ns + 5000000) // 1000000000 + 1)) AS second
    FROM untried
    WHERE is_short
),
-- by the second, as an outage has too many refusals of one status for all pairs of them
at_once AS (
    SELECT a.record_id, b.record_id AS member_id
    FROM refusals AS a
    JOIN seconds AS b ON b.http_status = a.http_status AND b.scope = a.scope AND b.second = a.second
        AND a.started_ns >= b.started_ns - 5000000 AND a.over_ns <= b.over_ns + 5000000
    UNION ALL
    SELECT a.record_id, b.record_id
    FROM refusals AS a
    JOIN untried AS b ON b.http_status = a.http_status AND b.scope = a.scope
        AND a.started_ns >= b.started_ns - 5000000 AND a.over_ns <= b.over_ns + 5000000
    WHERE NOT b.is_short
),
refused AS (
    SELECT record_id, member_id
    FROM at_once
    QUALIFY count(*) OVER (PARTITION BY record_id) = 1 AND count(*) OVER (PARTITION BY member_id) = 1
)
SELECT record_id, member_id AS match_id, true AS beside FROM beside
UNION ALL
SELECT record_id, choice_of, true FROM record_choices
UNION ALL
SELECT record_id, match_id, true FROM record_halves
UNION ALL
SELECT record_id, member_id, false FROM below
UNION ALL
SELECT record_id, member_id, false FROM adopted
UNION ALL
SELECT record_id, member_id, false FROM refused
