-- description: What the records of each hour show of the systems that wrote them: who streams, who records the same calls as another, which pool an engine is in (docs/semantics.md#one-attempt-several-records)
-- grain: epoch_hour, fact, emitter, other
-- reads: same_calls, serving_records
WITH found AS (
    SELECT coalesce(ended_ns, started_ns) // 3600000000000 AS epoch_hour, 'dialect' AS fact, dialect AS emitter, NULL::VARCHAR AS other
    FROM serving_records
    UNION
    SELECT coalesce(ended_ns, started_ns) // 3600000000000, 'streams', instrumentation, NULL
    FROM serving_records
    WHERE layer = 'client' AND streamed AND instrumentation IS NOT NULL
    UNION
    SELECT coalesce(ended_ns, started_ns) // 3600000000000, 'pool', replica, pool
    FROM serving_records
    WHERE layer = 'engine' AND replica IS NOT NULL AND pool IS NOT NULL
)
SELECT *, NULL::BIGINT AS calls FROM found
UNION ALL
-- no more than are evidence enough, so that further ones change nothing
SELECT epoch_hour, 'same_calls', instrumentation, outer_instrumentation, least(count(DISTINCT record_id), 3)
FROM same_calls
GROUP BY epoch_hour, instrumentation, outer_instrumentation
