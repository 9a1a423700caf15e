-- description: What an accepted request would cost a pool if a kind of operation came more or less often, and all else stayed as it is (docs/semantics.md#disruptions)
-- grain: kind (NULL: all kinds), pool, events_per_day
-- reads: disruption_cost
-- Cost and accepted work come at their steady rate, and at their disrupted rate for as long as an event disrupts.
WITH frequencies AS (
    SELECT c.*, unnest(list_sort(list_distinct([0, 1, 2, 4, 8, 16, 32, c.events_per_day]))) AS at_events_per_day
    FROM disruption_cost AS c
    WHERE c.pool IS NOT NULL AND c.steady_s > 0
),
shared AS (
    SELECT *, at_events_per_day * disrupted_per_event_s / 86400 AS disrupted_ratio FROM frequencies
)
SELECT
    kind, pool,
    at_events_per_day AS events_per_day,
    at_events_per_day = events_per_day AS observed,
    disrupted_ratio,
    ratio(
        (1 - disrupted_ratio) * steady_cost_usd / steady_s + disrupted_ratio * disrupted_cost_usd / disrupted_s,
        (1 - disrupted_ratio) * steady_accepted / steady_s + disrupted_ratio * disrupted_accepted / disrupted_s
    ) AS blended_cost_per_accepted_usd
FROM shared
WHERE disrupted_ratio <= 1
