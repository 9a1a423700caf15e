-- description: Records of one call that two instrumentations of its caller wrote into traces of their own, each with the one around it; without an id that both carry they count as one only where ids have shown that the two instrumentations record the same calls (docs/semantics.md#one-attempt-several-records)
-- grain: record_id
-- reads: match_options, near_facts, span_parents, unique_records
WITH callers AS (
    SELECT
        record_id, instrumentation, trace_id, response_id, model, input_tokens, output_tokens, outcome, started_ns, ended_ns,
        started_ns // 200000000 AS slot, scope_of(attributes, (SELECT within FROM match_options)) AS scope
    FROM unique_records
    WHERE layer = 'client' AND instrumentation IS NOT NULL AND ended_ns IS NOT NULL
        AND (SELECT count(DISTINCT instrumentation) > 1 FROM unique_records WHERE layer = 'client')
),
nearby AS (
    SELECT *, unnest([slot - 1, slot, slot + 1]) AS near_slot FROM callers
),
pairs AS (
    SELECT
        i.record_id,
        i.ended_ns,
        o.record_id AS outer_id,
        i.instrumentation,
        o.instrumentation AS outer_instrumentation,
        coalesce(i.response_id = o.response_id, false) AS shares_id,
        i.response_id <> o.response_id AS contradicts,
        abs(i.started_ns - o.started_ns) + abs(i.ended_ns - o.ended_ns) AS apart_ns
    FROM callers AS i
    JOIN nearby AS o ON o.near_slot = i.slot AND o.instrumentation <> i.instrumentation AND o.trace_id <> i.trace_id
        AND coalesce(o.model = i.model, true)
        AND (o.outcome = 'ok') = (i.outcome = 'ok') -- one may know better why it failed
        AND o.input_tokens IS NOT DISTINCT FROM i.input_tokens AND o.output_tokens IS NOT DISTINCT FROM i.output_tokens
    -- one process wrote both: the inner one lies within the outer one by its clock
    WHERE (o.started_ns, -o.ended_ns, o.record_id) < (i.started_ns, -i.ended_ns, i.record_id)
        AND surrounds(o.started_ns, o.ended_ns, i.started_ns, i.ended_ns)
        AND (o.scope = i.scope OR shares_id)
        AND i.record_id NOT IN (SELECT child_id FROM span_parents WHERE parent_id IS NOT NULL)
),
mutual AS ( -- each is the other's nearest
    SELECT *
    FROM pairs
    WHERE NOT coalesce(contradicts, false)
    QUALIFY row_number() OVER (PARTITION BY record_id ORDER BY shares_id DESC, apart_ns, outer_id) = 1
        AND row_number() OVER (PARTITION BY outer_id ORDER BY shares_id DESC, apart_ns, record_id) = 1
)
SELECT
    m.record_id,
    m.outer_id,
    m.shares_id OR coalesce(f.calls >= 3, false) AS is_same_call
FROM mutual AS m
LEFT JOIN near_facts AS f ON f.fact = 'same_calls' AND f.epoch_hour = m.ended_ns // 3600000000000
    AND f.emitter = m.instrumentation AND f.other = m.outer_instrumentation
