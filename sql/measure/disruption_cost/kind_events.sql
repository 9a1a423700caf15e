-- description: Operations of the last 7 measured days and the base windows of each pool that they disrupt (docs/semantics.md#disruptions)
-- grain: event_id, pool, start_s
-- reads: disruption_options, disruptions, pool_windows
-- unit: period_*_s: the days that are looked at, Unix seconds
WITH period AS (
    SELECT
        max(w.start_s + w.base_s) AS period_until_s,
        greatest(min(w.start_s), max(w.start_s + w.base_s) - any_value(o.baseline_s)) AS period_from_s
    FROM pool_windows AS w
    CROSS JOIN disruption_options AS o
),
events AS (
    SELECT
        d.event_id, d.kind, d.pool AS of_pool, epoch_us(d.occurred_at) / 1e6 AS occurred_s, epoch_us(d.ended_at) / 1e6 AS until_s,
        p.*
    FROM disruptions AS d
    JOIN period AS p ON epoch_us(d.occurred_at) / 1e6 >= p.period_from_s AND epoch_us(d.occurred_at) / 1e6 < p.period_until_s
)
SELECT e.event_id, e.kind, e.of_pool, e.period_from_s, e.period_until_s, w.pool, w.start_s, w.base_s
FROM events AS e
JOIN pool_windows AS w
    ON w.pool IS NOT NULL AND (e.of_pool IS NULL OR e.of_pool = w.pool)
    AND w.start_s >= e.period_from_s AND w.start_s < e.period_until_s
    AND w.start_s + w.base_s > e.occurred_s AND (w.start_s < e.until_s OR w.start_s <= e.occurred_s)
