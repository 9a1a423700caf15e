-- description: Attempts that a key, a common record or parent span, or their ids may make tries of one request, with that request (docs/semantics.md#which-tries-are-one-request); every other attempt is a request of its own
-- grain: attempt_id
-- reads: linked_attempts, options, recorded_attempts
WITH RECURSIVE keyless AS NOT MATERIALIZED ( -- each of its readers needs few of its rows and columns
    SELECT
        attempt_id, root_id, trace_id, span_id, parent_span_id, layer, covers_tries, call_id, started_ns, ended_ns, outcome,
        input_tokens
    FROM recorded_attempts
    WHERE request_key IS NULL
),
-- An id that a caller or gateway gave the call names its tries, within the time that a request may live.
called AS (
    SELECT root_id, first_value(root_id) OVER (
        PARTITION BY call_id, stretch ORDER BY span_id IS NULL, started_ns, root_id) AS call_root_id
    FROM (
        SELECT *, sum(is_far) OVER (PARTITION BY call_id ORDER BY started_ns, root_id) AS stretch
        FROM (
            SELECT k.*, (started_ns - lag(started_ns, 1, started_ns) OVER (
                PARTITION BY call_id ORDER BY started_ns, root_id) > o.max_request_lifetime_ns)::INTEGER AS is_far
            FROM keyless AS k CROSS JOIN options AS o
            WHERE attempt_id = root_id AND call_id IS NOT NULL
                AND hash(call_id) IN (
                    SELECT hash(call_id) FROM keyless
                    WHERE attempt_id = root_id AND call_id IS NOT NULL
                    GROUP BY ALL
                    HAVING count(*) > 1
                )
        )
    )
),
siblings AS (
    SELECT *, layer = 'engine' OR coalesce(covers_tries, false) AS serves FROM keyless
    WHERE attempt_id = root_id AND parent_span_id IS NOT NULL
        -- parting all attempts by their parents costs far more than counting hashes, which leave hardly any without siblings
        AND hash(trace_id, parent_span_id) IN (
            SELECT hash(trace_id, parent_span_id) FROM keyless
            WHERE attempt_id = root_id AND parent_span_id IS NOT NULL
            GROUP BY ALL
            HAVING count(*) > 1
        )
    QUALIFY count(*) OVER (PARTITION BY trace_id, parent_span_id) > 1
),
-- A server does not know whether its answer reached anyone, so siblings with the same prompt are tries of one request;
-- what starts later than any request may live is another one.
same_prompt AS (
    SELECT s.attempt_id, lag(attempt_id) OVER asked AS before_id, lag(started_ns) OVER asked AS before_ns, s.started_ns
    FROM siblings AS s
    WHERE serves AND (layer = 'engine' OR input_tokens IS NOT NULL) -- of a proxy that counts no tokens no prompt is known
    WINDOW asked AS (PARTITION BY trace_id, parent_span_id, layer, input_tokens ORDER BY started_ns, attempt_id)
),
-- A caller tries again only after a failure that it saw: what follows a delivered answer, or runs beside a
-- sibling, is another question under the same parent (an agent's next call). A server learns late that its caller
-- left; no client asks again sooner than 0.3 s after it asked (the SDKs back off at least 0.375 s).
after_failure AS (
    SELECT b.attempt_id, a.attempt_id AS before_id, a.started_ns AS before_ns, b.started_ns, a.over_ns
    FROM (SELECT * FROM siblings WHERE layer <> 'engine') AS b
    ASOF JOIN (
        SELECT *, greatest( -- one that took no time does not follow itself
            CASE WHEN serves AND outcome = 'cancelled' THEN started_ns + 300000000 ELSE ended_ns END, started_ns + 1) AS over_ns
        FROM siblings
        WHERE layer <> 'engine' AND outcome NOT IN ('ok', 'unknown') AND ended_ns IS NOT NULL
        -- of those that failed at the same time any could be the one that is followed
        QUALIFY row_number() OVER (PARTITION BY trace_id, parent_span_id, over_ns ORDER BY started_ns, attempt_id) = 1
    ) AS a ON a.trace_id = b.trace_id AND a.parent_span_id = b.parent_span_id AND b.started_ns >= a.over_ns
    QUALIFY row_number() OVER (PARTITION BY a.attempt_id ORDER BY b.started_ns, b.attempt_id) = 1
),
follows AS (
    -- of two that began at once the one with its prompt
    SELECT attempt_id, arg_max(before_id, 2 * before_ns + has_its_prompt::INTEGER) AS before_id
    FROM (
        SELECT attempt_id, before_id, before_ns, started_ns - before_ns AS later_ns, true AS has_its_prompt FROM same_prompt
        WHERE before_id IS NOT NULL
        UNION ALL
        SELECT attempt_id, before_id, before_ns, started_ns - over_ns, false FROM after_failure
    ) CROSS JOIN options AS o
    WHERE later_ns <= o.max_request_lifetime_ns
    GROUP BY attempt_id
),
sibling_tries AS (
    SELECT DISTINCT before_id AS attempt_id, before_id AS first_id FROM follows
    WHERE before_id NOT IN (SELECT attempt_id FROM follows)
    UNION ALL
    SELECT f.attempt_id, t.first_id FROM sibling_tries AS t JOIN follows AS f ON f.before_id = t.attempt_id
),
tries AS (
    SELECT k.root_id AS attempt_id, coalesce(s.first_id, c.call_root_id, k.root_id) AS first_id
    FROM (SELECT root_id FROM called UNION SELECT attempt_id FROM sibling_tries) AS k
    LEFT JOIN called AS c USING (root_id)
    LEFT JOIN sibling_tries AS s ON s.attempt_id = coalesce(c.call_root_id, k.root_id)
),
grouped AS MATERIALIZED ( -- the others need no joins
    SELECT attempt_id, root_id, request_key, started_ns, tried_ns
    FROM recorded_attempts
    WHERE request_key IS NOT NULL
        OR attempt_id IN (SELECT attempt_id FROM linked_attempts UNION ALL SELECT attempt_id FROM tries)
),
named AS (
    SELECT
        f.attempt_id,
        f.started_ns,
        coalesce(f.tried_ns, f.started_ns) AS tried_ns, -- a call that hides its failures began before its last try
        coalesce(f.request_key, root.request_key) AS given_key,
        coalesce(own.first_id, above.first_id, f.root_id) AS first_id
    FROM grouped AS f
    LEFT JOIN grouped AS root ON root.attempt_id = f.root_id AND f.root_id <> f.attempt_id
    LEFT JOIN tries AS own ON own.attempt_id = f.attempt_id
    LEFT JOIN tries AS above ON above.attempt_id = f.root_id AND f.root_id <> f.attempt_id
),
-- A key that is used again later than any request may live names another request.
keyed AS (
    SELECT attempt_id, first_value(attempt_id) OVER (
        PARTITION BY given_key, stretch ORDER BY started_ns, attempt_id) AS request_id
    FROM (
        SELECT *, sum(is_far) OVER (PARTITION BY given_key ORDER BY started_ns, attempt_id) AS stretch
        FROM (
            SELECT n.*, (started_ns - lag(started_ns, 1, started_ns) OVER (
                PARTITION BY given_key ORDER BY started_ns, attempt_id
            ) > o.max_request_lifetime_ns)::INTEGER AS is_far
            FROM named AS n CROSS JOIN options AS o
            WHERE given_key IS NOT NULL
        )
    )
),
assigned AS (
    SELECT
        n.attempt_id,
        n.tried_ns,
        coalesce(n.given_key, n.first_id) AS request_key,
        coalesce(k.request_id, n.first_id) AS request_id
    FROM named AS n
    LEFT JOIN keyed AS k USING (attempt_id)
),
-- few requests are tried more than once: only those are put in order
retried AS (
    SELECT attempt_id, row_number() OVER (PARTITION BY request_id ORDER BY tried_ns, attempt_id) - 1 AS attempt_index
    FROM assigned
    WHERE request_id IN (SELECT request_id FROM assigned GROUP BY request_id HAVING count(*) > 1)
)
SELECT
    a.attempt_id,
    a.request_key,
    a.request_id,
    r.attempt_id IS NOT NULL AS retried,
    coalesce(r.attempt_index, 0)::INTEGER AS attempt_index
FROM assigned AS a
LEFT JOIN retried AS r USING (attempt_id)
