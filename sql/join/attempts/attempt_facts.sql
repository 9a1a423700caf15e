-- description: One row per attempt: those of linked records, and every record that stands alone (docs/semantics.md#one-attempt-several-records)
-- grain: attempt_id
-- reads: linked_attempts, record_chains, unique_records
-- kind: view
WITH alone AS (
    SELECT record_id AS attempt_id, record_id AS root_id, [record_id] AS record_ids, source_id AS source,
        layer = 'engine' AS engine_seen,
        NULL::BIGINT AS client_tries, NULL::BIGINT AS gateway_tries, NULL::BIGINT AS engine_tries,
        r.*
    FROM unique_records AS r
    ANTI JOIN record_chains AS c USING (record_id)
),
heard AS (
    SELECT
        * EXCLUDE (first_token_ns),
        -- an answer that was not streamed reached its user whole, at its end; one without a token has no first
        CASE
            WHEN streamed = false THEN ended_ns
            WHEN outcome = 'ok' AND output_tokens = 0 THEN NULL
            ELSE first_token_ns
        END AS first_token_ns
    FROM (
        SELECT * FROM linked_attempts
        UNION ALL BY NAME
        SELECT * EXCLUDE (record_id, source_id, line, position, instrumentation, headers_ns, ttft_s, e2e_s), NULL::BIGINT AS tried_ns, NULL::BIGINT AS longest_choice_tokens FROM alone
    )
),
waited AS (
    SELECT
        *,
        coalesce(least(intended_ns, started_ns), started_ns) AS arrived_ns,
        (ended_ns - started_ns) / 1e9 AS e2e_s,
        -- clocks of two layers may disagree: a first token before the start is no latency
        CASE WHEN first_token_ns >= started_ns THEN (first_token_ns - started_ns) / 1e9 END AS ttft_s
    FROM heard
)
SELECT
    *,
    coalesce(longest_choice_tokens, output_tokens) AS paced_tokens,
    CASE WHEN outcome = 'ok' AND paced_tokens > 1 AND streamed IS DISTINCT FROM false AND e2e_s >= ttft_s
        THEN (e2e_s - ttft_s) / (paced_tokens - 1) END AS tpot_s
FROM waited
