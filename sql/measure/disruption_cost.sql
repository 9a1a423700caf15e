-- description: What each kind of operation costs a pool over the last 7 days: steady, disrupted and blended cost per accepted (docs/semantics.md#disruptions)
-- grain: kind (NULL: all kinds), pool (NULL: all pools)
-- reads: disruption_options, disruptions, pool_windows
-- Each base window counts once, however many disruptions lie in it; one of another kind is neither steady nor of this kind.
WITH period AS (
    SELECT
        max(w.start_s + w.base_s) AS until_s,
        greatest(min(w.start_s), max(w.start_s + w.base_s) - any_value(o.baseline_s)) AS from_s
    FROM pool_windows AS w
    CROSS JOIN disruption_options AS o
),
windows AS (
    SELECT w.* FROM pool_windows AS w JOIN period AS p ON w.start_s >= p.from_s AND w.start_s < p.until_s WHERE w.pool IS NOT NULL
),
events AS (
    SELECT
        d.event_id, d.kind, d.pool, epoch_us(d.occurred_at) / 1e6 AS occurred_s, epoch_us(d.ended_at) / 1e6 AS until_s
    FROM disruptions AS d
    JOIN period AS p ON epoch_us(d.occurred_at) / 1e6 >= p.from_s AND epoch_us(d.occurred_at) / 1e6 < p.until_s
),
concerned AS (
    SELECT e.event_id, e.kind, w.*
    FROM events AS e
    JOIN windows AS w
        ON (e.pool IS NULL OR e.pool = w.pool)
        AND w.start_s + w.base_s > e.occurred_s AND (w.start_s < e.until_s OR w.start_s <= e.occurred_s)
),
counted AS (
    SELECT kind, pool, count(DISTINCT event_id) AS events
    FROM concerned
    GROUP BY GROUPING SETS ((kind, pool), (kind), (pool), ())
    HAVING count(*) > 0
),
disrupted AS (
    SELECT
        kind, pool,
        count(*) AS windows, sum(accepted_millionths) / 1e6 AS accepted, sum(offered)::BIGINT AS offered,
        CASE WHEN count(cost_nanousd) = count(*) THEN sum(cost_nanousd) / 1e9 END AS cost_usd
    FROM (
        SELECT DISTINCT kind, pool, start_s, accepted_millionths, offered, cost_nanousd FROM concerned
        UNION ALL
        SELECT DISTINCT NULL, pool, start_s, accepted_millionths, offered, cost_nanousd FROM concerned
    )
    GROUP BY GROUPING SETS ((kind, pool), (kind))
),
steady AS (
    SELECT
        pool,
        count(*) AS windows, sum(accepted_millionths) / 1e6 AS accepted, sum(offered)::BIGINT AS offered,
        CASE WHEN count(cost_nanousd) = count(*) THEN sum(cost_nanousd) / 1e9 END AS cost_usd
    FROM windows AS w
    ANTI JOIN concerned AS c ON c.pool = w.pool AND c.start_s = w.start_s
    GROUP BY GROUPING SETS ((pool), ())
),
priced AS (
    SELECT
        d.kind, d.pool,
        make_timestamptz((p.from_s * 1000000)::BIGINT) AS period_start,
        make_timestamptz((p.until_s * 1000000)::BIGINT) AS period_end,
        n.events,
        n.events / ((p.until_s - p.from_s) / 86400) AS events_per_day,
        (d.windows * o.base_s)::DOUBLE AS disrupted_s,
        d.windows * o.base_s / n.events AS disrupted_per_event_s,
        coalesce(s.windows, 0) * o.base_s::DOUBLE AS steady_s,
        coalesce(s.accepted, 0) AS steady_accepted, s.cost_usd AS steady_cost_usd,
        d.offered AS disrupted_offered, d.accepted AS disrupted_accepted, d.cost_usd AS disrupted_cost_usd,
        ratio(s.cost_usd, s.accepted) AS steady_cost_per_accepted_usd,
        ratio(d.cost_usd, d.accepted) AS disrupted_cost_per_accepted_usd,
        ratio(s.cost_usd + d.cost_usd, s.accepted + d.accepted) AS blended_cost_per_accepted_usd,
        d.cost_usd - d.accepted * ratio(s.cost_usd, s.accepted) AS excess_cost_usd,
        d.offered * ratio(s.accepted, s.offered) - d.accepted AS lost_accepted
    FROM disrupted AS d
    CROSS JOIN period AS p
    CROSS JOIN disruption_options AS o
    JOIN counted AS n ON n.kind IS NOT DISTINCT FROM d.kind AND n.pool IS NOT DISTINCT FROM d.pool
    LEFT JOIN steady AS s ON s.pool IS NOT DISTINCT FROM d.pool
)
SELECT
    * EXCLUDE (excess_cost_usd, lost_accepted),
    -- pools differ in what they cost: together they are the sum of each beside itself
    CASE
        WHEN pool IS NOT NULL THEN excess_cost_usd
        WHEN count(excess_cost_usd) FILTER (WHERE pool IS NOT NULL) OVER of_kind = count(pool) OVER of_kind
            THEN sum(excess_cost_usd) FILTER (WHERE pool IS NOT NULL) OVER of_kind
    END AS excess_cost_usd,
    CASE
        WHEN pool IS NOT NULL THEN lost_accepted
        WHEN count(lost_accepted) FILTER (WHERE pool IS NOT NULL) OVER of_kind = count(pool) OVER of_kind
            THEN sum(lost_accepted) FILTER (WHERE pool IS NOT NULL) OVER of_kind
    END AS lost_accepted
FROM priced
WINDOW of_kind AS (
    PARTITION BY kind ORDER BY pool ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)
