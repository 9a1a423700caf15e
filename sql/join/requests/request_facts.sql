-- description: One row per request: when it arrived and ended, how often it was tried, which attempt delivered, and its workload (docs/semantics.md#attempts-and-requests, #gates-and-verdicts)
-- grain: request_id
-- reads: attempt_facts, attempt_requests, observed, options, workload_rules
WITH tries AS (
    SELECT
        r.request_id, r.request_key, r.retried, r.attempt_index,
        f.attempt_id, f.root_id, f.reported_attempts, f.client_tries, f.gateway_tries, f.engine_tries, f.layer, f.started_ns, f.arrived_ns, f.outcome,
        f.model, f.route, f.pool, f.tenant, f.session_id, f.attributes,
        -- an attempt with an outcome is over, even where its end was not recorded
        coalesce(f.ended_ns, CASE WHEN f.outcome <> 'unknown' THEN coalesce(f.first_token_ns, f.started_ns) END) AS over_ns
    FROM attempt_facts AS f
    JOIN attempt_requests AS r USING (attempt_id)
),
branched AS (
    SELECT root_id, min(CASE layer WHEN 'client' THEN 0 WHEN 'gateway' THEN 1 ELSE 2 END) AS depth
    FROM tries
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
        END AS own_tries
    FROM tries AS t
    LEFT JOIN branched AS b ON b.root_id = t.attempt_id
    WHERE t.retried
),
summed AS (
    SELECT
        request_id,
        request_key,
        attempt_id AS delivering_attempt_id,
        1::INTEGER AS attempts,
        greatest(coalesce(reported_attempts, 1) - 1, 0) AS retry_count,
        arrived_ns,
        over_ns AS ended_ns,
        model, route, pool, tenant, session_id, attributes
    FROM tries
    WHERE NOT retried
    UNION ALL BY NAME
    SELECT
        request_id,
        any_value(request_key) AS request_key,
        -- of a try below a recorded caller, the caller's record counts: only it knows what reached the user
        first(attempt_id ORDER BY attempt_id = root_id DESC, outcome = 'ok' DESC, started_ns DESC, attempt_id DESC)
            AS delivering_attempt_id,
        count(*)::INTEGER AS attempts,
        -- the tries that each recorded one stands for, unless they count on from one to the next; or those of a caller
        -- that counted more than were recorded
        greatest(
            CASE WHEN bool_and(own_tries IS NOT NULL AND greatest(own_tries, 1) = attempt_index + 1) THEN count(*)
                ELSE sum(greatest(own_tries, 1)) END,
            max(reported_attempts))::BIGINT - 1 AS retry_count,
        min(arrived_ns) AS arrived_ns,
        CASE
            WHEN bool_or(attempt_id = root_id AND outcome = 'ok')
                OR last(over_ns ORDER BY attempt_id = root_id, started_ns, attempt_id) IS NOT NULL
                THEN max(over_ns)
        END AS ended_ns,
        -- what the user asked for: from the first try that reports it
        first(model ORDER BY started_ns, attempt_id) FILTER (WHERE model IS NOT NULL) AS model,
        first(route ORDER BY started_ns, attempt_id) FILTER (WHERE route IS NOT NULL) AS route,
        first(pool ORDER BY started_ns, attempt_id) FILTER (WHERE pool IS NOT NULL) AS pool,
        first(tenant ORDER BY started_ns, attempt_id) FILTER (WHERE tenant IS NOT NULL) AS tenant,
        first(session_id ORDER BY started_ns, attempt_id) FILTER (WHERE session_id IS NOT NULL) AS session_id,
        first(attributes ORDER BY started_ns, attempt_id) FILTER (WHERE attributes IS NOT NULL) AS attributes
    FROM counted
    GROUP BY request_id
),
asked AS (
    SELECT DISTINCT model, route, pool, tenant, attributes FROM summed
),
workload_of AS (
    SELECT a.*, w.workload
    FROM asked AS a
    JOIN workload_rules AS w
        ON (w.model IS NULL OR len(list_filter(w.model, lambda g: coalesce(a.model, '') GLOB g)) > 0)
        AND (w.route IS NULL OR len(list_filter(w.route, lambda g: coalesce(a.route, '') GLOB g)) > 0)
        AND (w.pool IS NULL OR len(list_filter(w.pool, lambda g: coalesce(a.pool, '') GLOB g)) > 0)
        AND (w.tenant IS NULL OR len(list_filter(w.tenant, lambda g: coalesce(a.tenant, '') GLOB g)) > 0)
        AND len(list_filter(w.attributes, lambda m: len(list_filter(m.globs,
            lambda g: coalesce(json_extract_string(a.attributes, '$."' || m.name || '"'), '') GLOB g)) = 0)) = 0
    QUALIFY row_number() OVER (PARTITION BY a.model, a.route, a.pool, a.tenant, a.attributes ORDER BY w.ordinal) = 1
)
SELECT
    s.* EXCLUDE (ended_ns, model, route, pool, attributes),
    coalesce(w.workload, 'unassigned') AS workload,
    -- never seen to end: over, and failed, once it is older than any request may live; until then in flight
    s.ended_ns IS NULL AS unended,
    CASE
        WHEN s.ended_ns IS NOT NULL THEN s.ended_ns
        WHEN s.arrived_ns + o.max_request_lifetime_ns <= b.observed_until_ns
            THEN s.arrived_ns + o.max_request_lifetime_ns
    END AS ended_ns
FROM summed AS s
CROSS JOIN options AS o
CROSS JOIN observed AS b
LEFT JOIN workload_of AS w
    ON w.model IS NOT DISTINCT FROM s.model AND w.route IS NOT DISTINCT FROM s.route
    AND w.pool IS NOT DISTINCT FROM s.pool AND w.tenant IS NOT DISTINCT FROM s.tenant
    AND w.attributes IS NOT DISTINCT FROM s.attributes
