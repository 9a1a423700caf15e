-- description: What happened in each disruption: its own requests, hits, latency and cost; accepted requests with the 95 % interval that its labels leave (docs/semantics.md#disruptions)
-- grain: event_id
-- reads: disrupted_windows, event_accepted, event_samples
WITH counted AS (
    SELECT event_id, sum(accepted ORDER BY start_s) AS accepted FROM event_accepted WHERE NOT is_baseline GROUP BY event_id
),
known AS (
    SELECT
        event_id,
        sum(offered)::BIGINT AS offered,
        ratio(sum(cached_input_tokens), sum(input_tokens)) AS hit_ratio,
        quantile_cont(p95_ttft_s, 0.5) AS p95_ttft_s,
        -- the cost of some of the windows is not the cost of the disruption
        CASE WHEN count(cost_usd) = count(*) THEN sum(cost_usd)::DOUBLE END AS cost_usd
    FROM disrupted_windows
    GROUP BY event_id
)
SELECT
    event_id, k.* EXCLUDE (event_id),
    {
        value: c.accepted,
        low: greatest(0, c.accepted - coalesce(s.below, 0) - coalesce(s.open_below, 0)),
        high: least(k.offered, c.accepted + coalesce(s.above, 0) + coalesce(s.open_above, 0))
    } AS accepted
FROM known AS k
JOIN counted AS c USING (event_id)
LEFT JOIN (FROM event_samples WHERE NOT is_baseline) AS s USING (event_id)
