-- description: What each kind of operation costs a pool over the last 7 days: steady, disrupted and blended cost per accepted, and what one such disruption costs (docs/semantics.md#disruptions)
-- grain: kind (NULL: all kinds), pool (NULL: all pools)
-- reads: disruption_options, kind_events, kind_rates, steady_rates
-- Each base window counts once, however many disruptions lie in it; one of another kind is neither steady nor of this kind.
WITH counted AS (
    SELECT kind, pool, count(DISTINCT event_id) AS events
    FROM kind_events
    GROUP BY GROUPING SETS ((kind, pool), (kind), (pool), ())
    HAVING count(*) > 0
),
period AS (
    SELECT any_value(period_from_s) AS from_s, any_value(period_until_s) AS until_s FROM kind_events
),
rates AS (
    SELECT
        d.*, n.events, p.from_s, p.until_s, o.base_s,
        coalesce(s.windows, 0) AS steady_windows, s.work AS steady, s.cost AS steady_cost,
        blended_sums(s.work, d.work, d.usual, 1) AS sums,
        disruptions >= 3 AS is_enough
    FROM kind_rates AS d
    JOIN counted AS n ON n.kind IS NOT DISTINCT FROM d.kind AND n.pool IS NOT DISTINCT FROM d.pool
    CROSS JOIN period AS p
    CROSS JOIN disruption_options AS o
    LEFT JOIN steady_rates AS s ON s.pool IS NOT DISTINCT FROM d.pool
),
halved AS (
    SELECT *, CASE WHEN (sums).accepted > 0 THEN blended_half(steady, work, usual, 1, sums) END AS half FROM rates
),
blends AS (
    SELECT *, blended_cost(sums, half) AS blended FROM halved
)
SELECT
    kind, pool,
    make_timestamptz((from_s * 1000000)::BIGINT) AS period_start,
    make_timestamptz((until_s * 1000000)::BIGINT) AS period_end,
    events,
    events / ((until_s - from_s) / 86400) AS events_per_day,
    disruptions,
    (windows * base_s)::DOUBLE AS disrupted_s,
    windows * base_s / events AS disrupted_per_event_s,
    steady_windows * base_s::DOUBLE AS steady_s,
    coalesce(steady.accepted, 0) AS steady_accepted, steady.cost_usd AS steady_cost_usd,
    offered AS disrupted_offered, work.accepted AS disrupted_accepted, work.cost_usd AS disrupted_cost_usd,
    steady_cost.value AS steady_cost_per_accepted_usd,
    steady_cost.low AS steady_cost_per_accepted_ci_low_usd, steady_cost.high AS steady_cost_per_accepted_ci_high_usd,
    cost.value AS disrupted_cost_per_accepted_usd,
    cost.low AS disrupted_cost_per_accepted_ci_low_usd, cost.high AS disrupted_cost_per_accepted_ci_high_usd,
    blended.value AS blended_cost_per_accepted_usd,
    blended.low AS blended_cost_per_accepted_ci_low_usd, blended.high AS blended_cost_per_accepted_ci_high_usd,
    excess_cost_usd, lost_accepted,
    CASE WHEN is_enough THEN excess_cost_usd / disruptions END AS excess_cost_per_disruption_usd,
    excess.low / disruptions AS excess_cost_per_disruption_ci_low_usd, excess.high / disruptions AS excess_cost_per_disruption_ci_high_usd,
    CASE WHEN is_enough THEN lost_accepted / disruptions END AS lost_accepted_per_disruption,
    lost.low / disruptions AS lost_accepted_per_disruption_ci_low, lost.high / disruptions AS lost_accepted_per_disruption_ci_high,
    CASE
        WHEN NOT is_enough THEN 'few_disruptions'
        WHEN steady.units IS NULL OR steady.units < 2 THEN 'no_steady_time'
        WHEN steady.cost_usd IS NULL OR work.cost_usd IS NULL THEN 'cost_unknown'
        WHEN no_price IS NOT NULL THEN no_price
        WHEN excess.low IS NULL OR blended.high IS NULL THEN 'nothing_judged'
    END AS no_interval
FROM blends
