-- description: What each ops event did to its pool compared with undisturbed windows: for how long, how bad, at what cost (docs/semantics.md#disruptions)
-- grain: event_id
-- reads: disrupting_events, disruption_baselines, disruption_draws
-- unit: intervals are the middle 95 % of bootstrap samples that draw base windows with replacement, of disruption and baseline
WITH measured AS (
    SELECT event_id, any_value(COLUMNS(* EXCLUDE (event_id, draw))) FROM disruption_draws WHERE draw = 0 GROUP BY event_id
),
intervals AS (
    SELECT
        event_id,
        quantile_cont(COLUMNS(* EXCLUDE (event_id, draw, until_s, ended_by)), 0.025) AS '\0_low',
        quantile_cont(COLUMNS(* EXCLUDE (event_id, draw, until_s, ended_by)), 0.975) AS '\0_high'
    FROM disruption_draws
    WHERE draw > 0
    GROUP BY event_id
),
based AS (
    SELECT event_id, any_value(baseline) AS baseline, any_value(windows) AS windows FROM disruption_baselines GROUP BY event_id
),
crossed AS (
    SELECT a.event_id, count(*) AS others
    FROM (SELECT * FROM measured JOIN disrupting_events USING (event_id)) AS a
    JOIN (SELECT * FROM measured JOIN disrupting_events USING (event_id)) AS b
        ON a.event_id <> b.event_id AND (a.pool IS NULL OR b.pool IS NULL OR a.pool = b.pool)
        AND a.occurred_s < b.until_s AND b.occurred_s < a.until_s
    GROUP BY a.event_id
)
SELECT
    e.event_id, e.kind, e.pool, e.replica, e.revision, e.occurred_at,
    make_timestamptz((m.until_s * 1e6)::BIGINT) AS ended_at,
    m.ended_by,
    m.until_s - e.occurred_s AS duration_s,
    m.recovery_s, CASE WHEN b.event_id IS NOT NULL THEN i.recovery_s_low END AS recovery_ci_low_s,
    CASE WHEN b.event_id IS NOT NULL THEN i.recovery_s_high END AS recovery_ci_high_s,
    coalesce(o.others, 0) AS overlapping_events,
    coalesce(b.baseline, 'none') AS baseline,
    coalesce(b.windows, 0) AS baseline_windows,
    coalesce(m.offered, 0) AS offered, i.offered_low AS offered_ci_low, i.offered_high AS offered_ci_high,
    coalesce(m.accepted, 0) AS accepted, i.accepted_low AS accepted_ci_low, i.accepted_high AS accepted_ci_high,
    m.hit_ratio, i.hit_ratio_low AS hit_ci_low_ratio, i.hit_ratio_high AS hit_ci_high_ratio,
    m.baseline_hit_ratio, i.baseline_hit_ratio_low AS baseline_hit_ci_low_ratio, i.baseline_hit_ratio_high AS baseline_hit_ci_high_ratio,
    m.p95_ttft_s, i.p95_ttft_s_low AS p95_ttft_ci_low_s, i.p95_ttft_s_high AS p95_ttft_ci_high_s,
    m.baseline_p95_ttft_s, i.baseline_p95_ttft_s_low AS baseline_p95_ttft_ci_low_s, i.baseline_p95_ttft_s_high AS baseline_p95_ttft_ci_high_s,
    m.baseline_goodput_ratio, i.baseline_goodput_ratio_low AS baseline_goodput_ci_low_ratio,
    i.baseline_goodput_ratio_high AS baseline_goodput_ci_high_ratio,
    m.cost_usd, i.cost_usd_low AS cost_ci_low_usd, i.cost_usd_high AS cost_ci_high_usd,
    m.cost_per_accepted_usd, i.cost_per_accepted_usd_low AS cost_per_accepted_ci_low_usd,
    i.cost_per_accepted_usd_high AS cost_per_accepted_ci_high_usd,
    m.baseline_cost_per_accepted_usd, i.baseline_cost_per_accepted_usd_low AS baseline_cost_per_accepted_ci_low_usd,
    i.baseline_cost_per_accepted_usd_high AS baseline_cost_per_accepted_ci_high_usd,
    m.excess_cost_usd, i.excess_cost_usd_low AS excess_cost_ci_low_usd, i.excess_cost_usd_high AS excess_cost_ci_high_usd,
    m.lost_accepted, i.lost_accepted_low AS lost_accepted_ci_low, i.lost_accepted_high AS lost_accepted_ci_high
FROM measured AS m
JOIN disrupting_events AS e USING (event_id)
LEFT JOIN intervals AS i USING (event_id)
LEFT JOIN based AS b USING (event_id)
LEFT JOIN crossed AS o USING (event_id)
