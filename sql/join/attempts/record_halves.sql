-- description: Streamed calls that their emitter writes as two records, the call until its headers and the stream after them: each record of a stream with that of its call, by the instant of the headers below one parent (docs/semantics.md#one-attempt-several-records)
-- grain: record_id
-- reads: match_options, unique_records
WITH halves AS (
    SELECT
        record_id, headers_ns,
        ended_ns IS NULL AS is_call,
        -- outside any other span the two have a trace each, and nothing but their time
        concat_ws(
            '|', instrumentation, model,
            CASE
                WHEN trace_id IS NOT NULL AND parent_span_id IS NOT NULL THEN trace_id || parent_span_id
                ELSE scope_of(attributes, (SELECT within FROM match_options))
            END
        ) AS place
    FROM unique_records
    WHERE headers_ns IS NOT NULL
),
-- Reading a stream begins a moment after its headers are there: calls open and streams close, as brackets do.
brackets AS (
    SELECT
        *,
        sum(CASE WHEN is_call THEN 1 ELSE -1 END) OVER (
            PARTITION BY place ORDER BY headers_ns, is_call DESC, record_id ROWS UNBOUNDED PRECEDING
        ) + (NOT is_call)::INTEGER AS nesting
    FROM halves
)
SELECT s.record_id, c.record_id AS match_id
FROM (SELECT * FROM brackets WHERE NOT is_call) AS s
ASOF JOIN (SELECT * FROM brackets WHERE is_call) AS c
    ON c.place = s.place AND c.nesting = s.nesting AND s.headers_ns >= c.headers_ns
WHERE s.headers_ns - c.headers_ns <= 10000000000
QUALIFY row_number() OVER (PARTITION BY c.record_id ORDER BY s.headers_ns, s.record_id) = 1
