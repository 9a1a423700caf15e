-- description: What each ops event did to its pool compared with undisturbed windows: for how long, how bad, at what cost (docs/semantics.md#disruptions)
-- grain: event_id
-- reads: baseline_draws, baseline_rates, disrupting_events, disruption_baselines, disruption_ends, disruption_facts, disruption_options, priced_baselines, undisturbed_windows
-- unit: what happened is known but for its labels; intervals of hits, latency and recovery are the middle 95 % of bootstrap samples
WITH measured AS (
    SELECT * FROM disruption_ends WHERE draw = 0
),
intervals AS (
    SELECT
        event_id,
        -- a sample that does not recover counts as the longest that it can take
        quantile_cont(coalesce(e.recovery_s, e.cap_s), [0.025, 0.975]) AS recovery_s,
        quantile_cont(b.hit_ratio, [0.025, 0.975]) AS hit_ratio,
        quantile_cont(b.p95_ttft_s, [0.025, 0.975]) AS p95_ttft_s
    FROM disruption_ends AS e
    LEFT JOIN baseline_draws AS b USING (event_id, draw)
    -- windows of other loads show nothing of how those of this load vary
    SEMI JOIN (SELECT event_id FROM disruption_baselines WHERE baseline = 'matched') USING (event_id)
    WHERE draw > 0
    GROUP BY event_id
),
based AS (
    SELECT event_id, any_value(baseline) AS baseline, any_value(windows) AS windows FROM disruption_baselines GROUP BY event_id
),
-- its numbers are those of the base windows that it lies in (`disrupted_windows`): what shares one of them is in both
lying AS (
    SELECT event_id, pool, floor(occurred_s / base_s) AS first_window, greatest(first_window, ceil(measured.until_s / base_s) - 1) AS last_window
    FROM measured
    JOIN disrupting_events USING (event_id)
    CROSS JOIN disruption_options
),
crossed AS (
    SELECT a.event_id, count(*) AS others
    FROM lying AS a
    JOIN lying AS b
        ON a.event_id <> b.event_id AND (a.pool IS NULL OR b.pool IS NULL OR a.pool = b.pool)
        AND a.first_window <= b.last_window AND b.first_window <= a.last_window
    GROUP BY a.event_id
)
SELECT
    e.event_id, e.kind, e.pool, e.replica, e.revision, e.occurred_at,
    make_timestamptz((m.until_s * 1e6)::BIGINT) AS ended_at,
    m.ended_by,
    -- seconds since 1970 as doubles are true to a quarter of a microsecond only
    (epoch_us(ended_at) - epoch_us(e.occurred_at)) / 1e6 AS duration_s,
    m.recovery_s,
    i.recovery_s[1] AS recovery_ci_low_s, i.recovery_s[2] AS recovery_ci_high_s,
    coalesce(o.others, 0) AS overlapping_events,
    coalesce(b.baseline, 'none') AS baseline,
    coalesce(b.windows, 0) AS baseline_windows,
    coalesce(f.offered, 0) AS offered,
    coalesce(f.accepted.value, 0) AS accepted, f.accepted.low AS accepted_ci_low, f.accepted.high AS accepted_ci_high,
    f.hit_ratio,
    d.hit_ratio AS baseline_hit_ratio, i.hit_ratio[1] AS baseline_hit_ci_low_ratio, i.hit_ratio[2] AS baseline_hit_ci_high_ratio,
    f.p95_ttft_s,
    d.p95_ttft_s AS baseline_p95_ttft_s, i.p95_ttft_s[1] AS baseline_p95_ttft_ci_low_s, i.p95_ttft_s[2] AS baseline_p95_ttft_ci_high_s,
    r.goodput.value AS baseline_goodput_ratio,
    r.goodput.low AS baseline_goodput_ci_low_ratio, r.goodput.high AS baseline_goodput_ci_high_ratio,
    f.cost_usd,
    ratio(f.cost_usd, f.accepted.value) AS cost_per_accepted_usd,
    ratio(f.cost_usd, f.accepted.high) AS cost_per_accepted_ci_low_usd,
    ratio(f.cost_usd, f.accepted.low) AS cost_per_accepted_ci_high_usd,
    r.cost.value AS baseline_cost_per_accepted_usd,
    r.cost.low AS baseline_cost_per_accepted_ci_low_usd, r.cost.high AS baseline_cost_per_accepted_ci_high_usd,
    product(f.accepted, r.cost) AS normal_cost, product({value: f.offered, low: f.offered, high: f.offered}, r.goodput) AS normal_accepted,
    f.cost_usd - (normal_cost).value AS excess_cost_usd,
    f.cost_usd - (normal_cost).high AS excess_cost_ci_low_usd, f.cost_usd - (normal_cost).low AS excess_cost_ci_high_usd,
    difference(f.accepted, normal_accepted).value AS lost_accepted,
    difference(f.accepted, normal_accepted).low AS lost_accepted_ci_low,
    difference(f.accepted, normal_accepted).high AS lost_accepted_ci_high,
    coalesce(p.windows, 0) AS priced_windows,
    CASE
        WHEN r.event_id IS NULL AND u.event_id IS NULL THEN 'few_windows'
        WHEN r.event_id IS NULL THEN 'load_unmatched'
        WHEN r.no_interval IS NULL AND f.cost_usd IS NULL THEN 'cost_unknown'
        ELSE r.no_interval
    END AS no_interval
FROM measured AS m
JOIN disrupting_events AS e USING (event_id)
LEFT JOIN disruption_facts AS f USING (event_id)
LEFT JOIN baseline_rates AS r USING (event_id)
LEFT JOIN (FROM baseline_draws WHERE draw = 0) AS d USING (event_id)
LEFT JOIN intervals AS i USING (event_id)
LEFT JOIN based AS b USING (event_id)
LEFT JOIN crossed AS o USING (event_id)
LEFT JOIN (SELECT DISTINCT event_id FROM undisturbed_windows) AS u USING (event_id)
LEFT JOIN (SELECT event_id, count(*) AS windows FROM priced_baselines GROUP BY event_id) AS p USING (event_id)
