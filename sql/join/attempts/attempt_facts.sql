-- description: Every attempt with its replica, its pool and its model, whoever names them, and its times (docs/semantics.md#one-attempt-several-records)
-- grain: attempt_id
-- reads: declared_models, declared_names, named_replicas, recorded_attempts, replica_models, replica_pools
-- kind: view
WITH waited AS (
    SELECT
        -- clocks of two layers may disagree: an end, or a first token, before the start is no latency
        r.* REPLACE (CASE WHEN r.ended_ns < started_ns THEN started_ns ELSE r.ended_ns END AS ended_ns),
        coalesce(least(intended_ns, started_ns), started_ns) AS arrived_ns,
        CASE WHEN r.ended_ns >= started_ns THEN (r.ended_ns - started_ns) / 1e9 END AS e2e_s,
        CASE WHEN first_token_ns >= started_ns THEN (first_token_ns - started_ns) / 1e9 END AS ttft_s
    FROM recorded_attempts AS r
),
-- an address is a replica only where it is known to be one, or where a gateway's word is all that there is
located AS (
    SELECT
        w.* EXCLUDE (address, address_layer) REPLACE (
            CASE
                WHEN w.replica IS NOT NULL THEN coalesce(own.replica, called.replica, w.replica)
                WHEN called.replica IS NOT NULL THEN called.replica
                WHEN behind.name IS NOT NULL THEN behind.replica
                WHEN w.address_layer = 'gateway' THEN w.address
            END AS replica),
        coalesce(w.ended_ns, w.started_ns) // 3600000000000 AS over_hour
    FROM waited AS w
    LEFT JOIN named_replicas AS own ON own.epoch_hour = coalesce(w.ended_ns, w.started_ns) // 3600000000000 AND own.name = w.replica
    LEFT JOIN declared_names AS called ON called.name = coalesce(w.replica, w.address)
    LEFT JOIN named_replicas AS behind
        ON behind.epoch_hour = coalesce(w.ended_ns, w.started_ns) // 3600000000000 AND behind.name = w.address AND w.replica IS NULL
)
SELECT
    -- who left or failed before an engine wrote its record was still in the pool of the replica that was called
    l.* EXCLUDE (over_hour, model) REPLACE (coalesce(l.pool, p.pool) AS pool),
    CASE
        WHEN l.model IS NULL AND s.model IS NULL THEN list_filter(d.rules, lambda r:
            is_like_any(coalesce(l.pool, p.pool), r.pools) AND is_like_any(l.replica, r.replicas))[1].model
    END AS declared_model,
    coalesce(l.model, s.model, declared_model) AS model,
    CASE
        WHEN l.model IS NOT NULL THEN 'record'
        WHEN s.model IS NOT NULL THEN 'scrape'
        WHEN declared_model IS NOT NULL THEN 'settings'
    END AS model_from,
    coalesce(longest_choice_tokens, output_tokens) AS paced_tokens,
    CASE WHEN outcome = 'ok' AND paced_tokens > 1 AND streamed IS DISTINCT FROM false AND e2e_s >= ttft_s
        THEN (e2e_s - ttft_s) / (paced_tokens - 1) END AS tpot_s
FROM located AS l
LEFT JOIN replica_models AS s ON l.model IS NULL AND s.epoch_hour = l.over_hour AND s.replica = l.replica
LEFT JOIN replica_pools AS p ON l.pool IS NULL AND p.epoch_hour = l.over_hour AND p.replica = l.replica
CROSS JOIN (
    SELECT list({'model': model, 'pools': like_patterns(pool), 'replicas': like_patterns(replica)} ORDER BY ordinal) AS rules
    FROM declared_models
) AS d
