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
    JOIN period AS p ON epoch_us(d.ended_at) / 1e6 > p.period_from_s AND epoch_us(d.occurred_at) / 1e6 < p.period_until_s
),
windows AS (
    SELECT pool, start_s, base_s FROM pool_windows WHERE pool IS NOT NULL
),
-- one that names no pool concerns all
concerned AS (
    SELECT e.*, w.* FROM events AS e JOIN windows AS w ON w.pool = e.of_pool
    UNION ALL
    SELECT e.*, w.* FROM events AS e CROSS JOIN windows AS w WHERE e.of_pool IS NULL
)
SELECT event_id, kind, of_pool, period_from_s, period_until_s, pool, start_s, base_s
FROM concerned
WHERE start_s >= period_from_s AND start_s < period_until_s
    AND start_s + base_s > occurred_s AND (start_s < until_s OR start_s <= occurred_s)
