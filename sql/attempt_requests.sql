-- description: Which request each attempt is a try of (semantics 1): a configured key, else tries under one record, else sibling tries under one parent span, else the attempt alone
-- grain: attempt_id
WITH RECURSIVE keyless AS (
    SELECT attempt_id, root_id, trace_id, parent_span_id, layer, started_ns, ended_ns, outcome, input_tokens
    FROM attempt_facts
    WHERE request_key IS NULL
),
siblings AS (
    SELECT * FROM keyless
    WHERE attempt_id = root_id AND parent_span_id IS NOT NULL
    QUALIFY count(*) OVER (PARTITION BY trace_id, parent_span_id) > 1
),
-- Engines do not know whether their answer reached anyone, so sibling engine spans with the same prompt are tries of
-- one request; what starts later than any request may live is another one.
engine_tries AS (
    SELECT attempt_id, first_value(attempt_id) OVER (
        PARTITION BY trace_id, parent_span_id, input_tokens, stretch ORDER BY started_ns, attempt_id) AS first_id
    FROM (
        SELECT *, sum(is_far) OVER (
            PARTITION BY trace_id, parent_span_id, input_tokens ORDER BY started_ns, attempt_id) AS stretch
        FROM (
            SELECT s.*, (started_ns - lag(started_ns, 1, started_ns) OVER (
                PARTITION BY trace_id, parent_span_id, input_tokens ORDER BY started_ns, attempt_id
            ) > o.max_request_lifetime_ns)::INTEGER AS is_far
            FROM siblings AS s CROSS JOIN options AS o
            WHERE layer = 'engine'
        )
    )
),
-- A caller tries again only after a failure that it saw: what follows a delivered answer, or runs beside a
-- sibling, is another question under the same parent (an agent's next call).
follows AS (
    SELECT b.attempt_id, a.attempt_id AS before_id
    FROM (SELECT * FROM siblings WHERE layer <> 'engine') AS b
    ASOF JOIN (
        SELECT *, greatest(ended_ns, started_ns + 1) AS over_ns -- one that took no time does not follow itself
        FROM siblings
        WHERE layer <> 'engine' AND outcome <> 'ok' AND ended_ns IS NOT NULL
    ) AS a ON a.trace_id = b.trace_id AND a.parent_span_id = b.parent_span_id AND b.started_ns >= a.over_ns
    CROSS JOIN options AS o
    WHERE b.started_ns - a.over_ns <= o.max_request_lifetime_ns
    QUALIFY row_number() OVER (PARTITION BY a.attempt_id ORDER BY b.started_ns, b.attempt_id) = 1
),
caller_tries AS (
    SELECT DISTINCT before_id AS attempt_id, before_id AS first_id FROM follows
    WHERE before_id NOT IN (SELECT attempt_id FROM follows)
    UNION ALL
    SELECT f.attempt_id, t.first_id FROM caller_tries AS t JOIN follows AS f ON f.before_id = t.attempt_id
),
tries AS (
    SELECT * FROM engine_tries
    UNION ALL
    SELECT * FROM caller_tries
),
named AS (
    SELECT
        f.attempt_id,
        f.started_ns,
        coalesce(f.request_key, root.request_key) AS given_key,
        coalesce(own.first_id, above.first_id, f.root_id) AS first_id
    FROM attempt_facts AS f
    LEFT JOIN attempt_facts AS root ON root.attempt_id = f.root_id AND f.root_id <> f.attempt_id
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
        n.started_ns,
        coalesce(n.given_key, n.first_id) AS request_key,
        coalesce(k.request_id, n.first_id) AS request_id
    FROM named AS n
    LEFT JOIN keyed AS k USING (attempt_id)
),
-- few requests are tried more than once: only those are put in order
retried AS (
    SELECT attempt_id, row_number() OVER (PARTITION BY request_id ORDER BY started_ns, attempt_id) - 1 AS attempt_index
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
