-- description: Places whose records may be of one call by their time alone: two instrumentations of one caller that are known to write the same calls, and a gateway's refusals (docs/scale.md#an-hour-that-is-cut)
-- grain: place, id
-- reads: match_options, near_facts, serving_records
WITH callers AS (
    SELECT
        record_place(trace_id, record_id) AS place, instrumentation, trace_id, model, input_tokens, output_tokens, started_ns, ended_ns,
        started_ns // 200000000 AS slot, scope_of(attributes, (SELECT within FROM match_options)) AS scope
    FROM serving_records
    WHERE layer = 'client' AND instrumentation IS NOT NULL AND ended_ns IS NOT NULL
        AND EXISTS (FROM near_facts WHERE fact = 'same_calls' AND calls >= 3)
),
nearby AS (
    SELECT *, unnest([slot - 1, slot, slot + 1]) AS near_slot FROM callers
),
failures AS (
    SELECT
        record_place(trace_id, record_id) AS place, http_status, scope_of(attributes, (SELECT within FROM match_options)) AS scope,
        started_ns, coalesce(ended_ns, started_ns) AS over_ns,
        span_id IS NULL AND NOT coalesce(covers_tries, false) AS is_log,
        span_id IS NOT NULL AND covers_tries AS is_span
    FROM serving_records
    WHERE layer = 'gateway' AND http_status >= 400
),
-- All of one status and scope that follow each other without a gap: pairs of them would be as many as their square in an outage.
swept AS (
    SELECT *, max(over_ns) OVER (
        PARTITION BY http_status, scope ORDER BY started_ns, over_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ) AS before_ns
    FROM failures
    WHERE is_log OR is_span
),
stretches AS (
    SELECT *, sum((before_ns IS NULL OR started_ns > before_ns + 5000000)::INTEGER) OVER (
        PARTITION BY http_status, scope ORDER BY started_ns, over_ns ROWS UNBOUNDED PRECEDING
    ) AS stretch
    FROM swept
)
SELECT i.place, o.place AS id
FROM callers AS i
JOIN nearby AS o ON o.near_slot = i.slot AND o.instrumentation <> i.instrumentation AND o.trace_id <> i.trace_id
    AND o.scope = i.scope AND coalesce(o.model = i.model, true)
    AND o.input_tokens IS NOT DISTINCT FROM i.input_tokens AND o.output_tokens IS NOT DISTINCT FROM i.output_tokens
WHERE surrounds(o.started_ns, o.ended_ns, i.started_ns, i.ended_ns)
UNION ALL
SELECT place, hash('refused', http_status, scope, stretch)
FROM stretches
QUALIFY bool_or(is_log) OVER (PARTITION BY http_status, scope, stretch)
    AND bool_or(is_span) OVER (PARTITION BY http_status, scope, stretch)
