-- description: What an accepted request would cost a pool if a kind of operation came more or less often, and all else stayed as it is (docs/semantics.md#disruptions)
-- grain: kind (NULL: all kinds), pool, events_per_day
-- reads: disruption_cost, kind_rates, steady_rates
-- Each event replaces what steady time costs and accepts at its load by what it costs and accepts.
WITH frequencies AS (
    SELECT c.*, unnest(list_sort(list_distinct([0, 1, 2, 4, 8, 16, 32, c.events_per_day]))) AS at_events_per_day
    FROM disruption_cost AS c
    WHERE c.pool IS NOT NULL AND c.steady_s > 0
),
shared AS (
    SELECT *, at_events_per_day * disrupted_per_event_s / 86400 AS disrupted_ratio FROM frequencies
),
summed AS (
    SELECT
        f.kind, f.pool,
        f.at_events_per_day AS events_per_day,
        f.at_events_per_day = f.events_per_day AS observed,
        f.disrupted_ratio,
        s.work AS steady, d.work AS disrupted, d.usual,
        f.at_events_per_day / f.events_per_day AS often,
        blended_sums(steady, disrupted, usual, often) AS sums
    FROM shared AS f
    JOIN steady_rates AS s ON s.pool = f.pool
    JOIN kind_rates AS d ON d.pool = f.pool AND d.kind IS NOT DISTINCT FROM f.kind
    WHERE f.disrupted_ratio <= 1
),
halved AS (
    SELECT *, CASE WHEN (sums).accepted > 0 THEN blended_half(steady, disrupted, usual, often, sums) END AS half FROM summed
),
blends AS (
    SELECT *, blended_cost(sums, half) AS cost FROM halved
)
SELECT
    kind, pool, events_per_day, observed, disrupted_ratio,
    cost.value AS blended_cost_per_accepted_usd,
    cost.low AS blended_cost_per_accepted_ci_low_usd,
    cost.high AS blended_cost_per_accepted_ci_high_usd
FROM blends
