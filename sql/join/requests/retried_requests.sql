-- description: Requests of more than one attempt: when they arrived and ended, how often they were tried, which attempt delivered, and what they asked for (docs/semantics.md#attempts-and-requests)
-- grain: request_id
-- reads: attempt_requests
WITH branched AS (
    SELECT root_id, min(layer_depth(layer)) AS depth
    FROM attempt_requests
    WHERE retried AND attempt_id <> root_id
    GROUP BY root_id
),
counted AS (
    -- what a caller counts are the tries recorded below it, if any are: the try that it passed on counts its own
    SELECT
        t.*,
        CASE WHEN b.root_id IS NULL THEN t.reported_attempts
            ELSE coalesce(
                t.engine_tries,
                CASE WHEN b.depth <= 1 THEN t.gateway_tries END,
                CASE WHEN b.depth = 0 THEN t.client_tries END)
        END AS own_tries,
        t.attempt_id = t.root_id AND t.outcome = 'ok' AS answered,
        max(t.started_ns) FILTER (WHERE t.attempt_id = t.root_id AND t.outcome = 'ok') OVER (PARTITION BY t.request_id)
            AS last_answered_ns
    FROM attempt_requests AS t
    LEFT JOIN branched AS b ON b.root_id = t.attempt_id
    WHERE t.retried
)
SELECT
    request_id,
    any_value(request_key) AS request_key,
    -- of a try below a recorded caller, the caller's record counts: only it knows what reached the user; of several that
    -- answered, the user had the first, unless he asked again after it
    first(attempt_id ORDER BY
        attempt_id = root_id DESC, outcome = 'ok' DESC,
        CASE WHEN answered THEN is_superseded(started_ns, ended_ns, last_answered_ns) END,
        CASE WHEN answered THEN layer_depth(layer) END,
        CASE WHEN answered THEN ended_ns END NULLS LAST,
        started_ns DESC, attempt_id DESC) AS delivering_attempt_id,
    count(*)::INTEGER AS attempts,
    -- the tries that each recorded one stands for, unless they count on from one to the next; or those of a caller that
    -- counted more than were recorded
    greatest(
        CASE WHEN bool_and(own_tries IS NOT NULL AND greatest(own_tries, 1) = attempt_index + 1) THEN count(*)
            ELSE sum(greatest(own_tries, 1)) END,
        max(reported_attempts))::BIGINT - 1 AS retry_count,
    min(arrived_ns) AS arrived_ns,
    CASE
        WHEN bool_or(attempt_id = root_id AND outcome = 'ok')
            OR last(over_ns ORDER BY attempt_id = root_id, started_ns, attempt_id) IS NOT NULL
            THEN max(over_ns)
    END AS over_ns,
    -- what the user asked for: from the first try that reports it
    first(model ORDER BY started_ns, attempt_id) FILTER (WHERE model IS NOT NULL) AS model,
    first(route ORDER BY started_ns, attempt_id) FILTER (WHERE route IS NOT NULL) AS route,
    first(pool ORDER BY started_ns, attempt_id) FILTER (WHERE pool IS NOT NULL) AS pool,
    first(tenant ORDER BY started_ns, attempt_id) FILTER (WHERE tenant IS NOT NULL) AS tenant,
    first(session_id ORDER BY started_ns, attempt_id) FILTER (WHERE session_id IS NOT NULL) AS session_id,
    merged_attributes(list(attributes ORDER BY started_ns DESC, attempt_id DESC) FILTER (WHERE attributes IS NOT NULL))
        AS attributes
FROM counted
GROUP BY request_id
