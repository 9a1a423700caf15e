-- description: Which replicas calls to an address reached in each hour, by records that an id or a parent links
-- grain: epoch_hour, address, replica
-- reads: serving_records, span_links
-- Each hour by itself, whatever other hours are loaded.
WITH RECURSIVE callers AS (
    SELECT
        coalesce(ended_ns, started_ns) // 3600000000000 AS epoch_hour,
        layer, address, trace_id, span_id, response_id, call_id
    FROM serving_records
    WHERE layer <> 'engine' AND address IS NOT NULL
),
engines AS (
    SELECT
        coalesce(ended_ns, started_ns) // 3600000000000 AS epoch_hour,
        replica, trace_id, parent_span_id, response_id, call_id
    FROM serving_records
    WHERE layer = 'engine' AND replica IS NOT NULL
        AND coalesce(ended_ns, started_ns) // 3600000000000 IN (SELECT epoch_hour FROM callers)
),
links AS (
    SELECT DISTINCT ended_ns // 3600000000000 AS epoch_hour, trace_id, span_id, parent_span_id
    FROM span_links
    WHERE parent_span_id IS NOT NULL
),
-- past spans that are no serving records: the nearest record above the engine's called it
climb AS (
    SELECT epoch_hour, trace_id, parent_span_id AS span_id, replica, 0 AS steps
    FROM engines
    WHERE trace_id IS NOT NULL AND parent_span_id IS NOT NULL
    UNION
    SELECT c.epoch_hour, c.trace_id, l.parent_span_id, c.replica, c.steps + 1
    FROM climb AS c
    JOIN links AS l USING (epoch_hour, trace_id, span_id)
    WHERE c.steps < 16
),
-- an id that several tries at different addresses share does not show which of them reached the engine
answers AS (
    SELECT epoch_hour, response_id, min(address) AS address
    FROM callers
    WHERE response_id IS NOT NULL
    GROUP BY epoch_hour, layer, response_id
    HAVING min(address) = max(address)
),
calls AS (
    SELECT epoch_hour, call_id, min(address) AS address
    FROM callers
    WHERE call_id IS NOT NULL
    GROUP BY epoch_hour, layer, call_id
    HAVING min(address) = max(address)
)
SELECT epoch_hour, c.address, e.replica FROM climb AS e JOIN callers AS c USING (epoch_hour, trace_id, span_id)
UNION
SELECT epoch_hour, a.address, e.replica FROM engines AS e JOIN answers AS a USING (epoch_hour, response_id)
UNION
SELECT epoch_hour, a.address, e.replica FROM engines AS e JOIN calls AS a USING (epoch_hour, call_id)
