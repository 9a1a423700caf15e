-- description: Records of one call that stand beside each other under one parent though they are of different layers, because a gateway handed its caller's trace context on unchanged: each inner one with the outer one that it lies below (docs/semantics.md#one-attempt-several-records)
-- grain: record_id
-- reads: span_parents, unique_records
WITH RECURSIVE placed AS (
    SELECT
        child_id AS record_id,
        coalesce(parent_id, missing_span) AS above_id,
        layer_depth(layer) AS depth
    FROM span_parents
),
siblings AS (
    SELECT record_id, above_id, depth
    FROM placed
    QUALIFY min(depth) OVER (PARTITION BY above_id) < max(depth) OVER (PARTITION BY above_id)
),
members AS (
    SELECT above_id, record_id AS sibling_id, depth AS sibling_depth, record_id FROM siblings
    UNION -- a set, so that a loop of parents ends
    SELECT m.above_id, m.sibling_id, m.sibling_depth, p.child_id
    FROM members AS m
    JOIN span_parents AS p ON p.parent_id = m.record_id
),
facts AS (
    SELECT
        record_id, call_id, response_id, input_tokens, started_ns,
        coalesce(ended_ns, started_ns) AS over_ns,
        coalesce(covers_tries, false) AS covers_tries,
        coalesce(reported_attempts, 1) AS reported_attempts,
        layer_depth(layer) AS depth
    FROM unique_records
    WHERE record_id IN (SELECT record_id FROM members)
),
candidates AS (
    SELECT
        s.record_id,
        h.record_id AS host_id,
        h.depth, h.covers_tries, h.reported_attempts,
        shares_call(a, h) AS shares_id,
        least(a.over_ns, h.over_ns) - greatest(a.started_ns, h.started_ns) AS overlap_ns,
        abs(a.started_ns - h.started_ns) AS apart_ns
    FROM siblings AS s
    -- a sibling of an outer layer, so that no two can be placed below each other
    JOIN members AS m ON m.above_id = s.above_id AND m.sibling_depth < s.depth
    JOIN facts AS a ON a.record_id = s.record_id
    JOIN facts AS h ON h.record_id = m.record_id
    WHERE may_lie_below(a, h)
),
nearest AS (
    SELECT *
    FROM candidates
    QUALIFY row_number() OVER (
        PARTITION BY record_id
        ORDER BY shares_id DESC, depth DESC, covers_tries, overlap_ns DESC, apart_ns, host_id) = 1
)
SELECT record_id, host_id
FROM nearest
-- an outer record has as many tries below it as it made; what lies in its time beyond that is another call
QUALIFY shares_id OR covers_tries
    OR row_number() OVER (PARTITION BY host_id ORDER BY shares_id DESC, overlap_ns DESC, apart_ns, record_id) <= reported_attempts
