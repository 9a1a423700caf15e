-- description: What each pool, and the fleet as a whole, did in each base window: the points that disruptions are measured on (docs/semantics.md#disruptions)
-- grain: pool (NULL: the fleet), start_s
-- reads: cache_by_replica, disruption_options, goodput
WITH looked_up AS (
    SELECT
        epoch_us(window_start) // 1000000 AS start_s, coalesce(pool, 'unknown') AS pool,
        sum(input_tokens)::BIGINT AS input_tokens, sum(cached_input_tokens)::BIGINT AS cached_input_tokens
    FROM cache_by_replica
    JOIN disruption_options ON window_s = base_s
    GROUP BY ALL
),
cached AS (
    SELECT * FROM looked_up
    UNION ALL
    SELECT start_s, NULL, sum(input_tokens)::BIGINT, sum(cached_input_tokens)::BIGINT FROM looked_up GROUP BY start_s
),
served AS (
    SELECT
        pool, epoch_us(window_start) // 1000000 AS start_s, o.base_s, arrivals, offered, accepted, p95_ttft_s,
        -- one without a request is as whole as any: an outage is a load of none
        start_s >= o.observed_from_s AND start_s + o.base_s <= o.observed_until_s AS whole,
        -- the cost of some of the work is not the cost of the window; decimals add up to the same sum in any order. What was refused
        -- before it reached a pool cost nothing, where it is known what others did
        CASE
            WHEN pool = 'unknown' AND cost_usd IS NULL AND unpriced = 0
                AND bool_or(pool <> 'unknown' AND cost_usd IS NOT NULL) OVER (PARTITION BY window_start) THEN 0
            ELSE if_all_priced(cost_usd, unpriced)
        END::DECIMAL(38, 18) AS cost_usd
    FROM goodput
    JOIN disruption_options AS o ON window_s = base_s
    WHERE slice IN ('overall', 'pool')
        -- beyond telemetry there may be money, and nothing was disrupted or steady
        AND start_s + o.base_s > o.observed_from_s AND start_s < o.observed_until_s
)
SELECT s.*, c.input_tokens, c.cached_input_tokens
FROM served AS s
LEFT JOIN cached AS c ON c.start_s = s.start_s AND c.pool IS NOT DISTINCT FROM s.pool
