-- description: One row per attempt, as its records tell it: those of linked records, and every record that stands alone (docs/semantics.md#one-attempt-several-records)
-- grain: attempt_id
-- reads: linked_attempts, record_chains, unique_records
-- kind: view
WITH alone AS (
    SELECT record_id AS attempt_id, record_id AS root_id, [record_id] AS record_ids, source_id AS source,
        layer = 'engine' AS engine_seen, layer AS address_layer,
        NULL::BIGINT AS client_tries, NULL::BIGINT AS gateway_tries, NULL::BIGINT AS engine_tries,
        r.*
    FROM unique_records AS r
    ANTI JOIN record_chains AS c USING (record_id)
)
SELECT
    * EXCLUDE (first_token_ns),
    -- an answer that was not streamed reached its user whole, at its end, if it did; one without a token has no first
    CASE
        WHEN streamed = false THEN CASE WHEN outcome = 'ok' THEN ended_ns END
        WHEN outcome = 'ok' AND output_tokens = 0 THEN NULL
        ELSE first_token_ns
    END AS first_token_ns
FROM (
    SELECT * FROM linked_attempts
    UNION ALL BY NAME
    SELECT * EXCLUDE (record_id, source_id, line, position, instrumentation, headers_ns, needs_parent, ttft_s, e2e_s, replica_names), NULL::BIGINT AS tried_ns, NULL::BIGINT AS longest_choice_tokens FROM alone
)
