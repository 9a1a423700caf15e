-- description: What was done to the fleet in a period, what each operation cost, and what judges said before and after
-- grain: period, event_id
-- reads: disruptions, operation_quality, replica_windows, shown_periods
-- unit: US dollars, requests, seconds; low and high are the ends of 95 % intervals; replicas_before: up in the last window before, replicas_most: in any of its own
-- unit: lost_usd: what the answers that were lost cost when steady; paid_usd: what was paid beyond, the rest of excess_cost_usd
WITH up AS (
    SELECT p.period, r.pool, r.window_start, r.window_start + to_seconds(any_value(r.window_s)) AS window_end, sum(r.up_s) / any_value(r.window_s) AS replicas
    FROM replica_windows AS r
    JOIN shown_periods AS p ON r.window_s = p.drawn_s
    GROUP BY p.period, r.pool, r.window_start
),
fleet AS (
    SELECT
        u.period, d.event_id,
        arg_max(u.replicas, u.window_start) FILTER (WHERE u.window_end <= d.occurred_at) AS replicas_before,
        max(u.replicas) FILTER (WHERE u.window_end > d.occurred_at) AS replicas_most
    FROM disruptions AS d
    JOIN up AS u ON u.pool = d.pool AND u.window_start < d.ended_at AND u.window_end > d.occurred_at - INTERVAL 1 HOUR
    GROUP BY u.period, d.event_id
)
SELECT
    p.period, d.event_id, d.occurred_at AS at, d.ended_at, d.kind, d.pool, d.replica, d.revision, d.ended_by,
    d.duration_s, d.recovery_s, d.lost_accepted, d.lost_accepted_ci_low, d.lost_accepted_ci_high,
    d.excess_cost_usd, d.excess_cost_ci_low_usd AS low_usd, d.excess_cost_ci_high_usd AS high_usd, d.overlapping_events, d.priced_windows, d.no_interval,
    f.replicas_before, f.replicas_most,
    d.lost_accepted * d.baseline_cost_per_accepted_usd AS lost_usd, d.excess_cost_usd - lost_usd AS paid_usd,
    q.* EXCLUDE (event_id)
FROM disruptions AS d
JOIN shown_periods AS p ON d.occurred_at >= p.from_at AND d.occurred_at < p.until_at
LEFT JOIN operation_quality AS q USING (event_id)
LEFT JOIN fleet AS f ON f.period = p.period AND f.event_id = d.event_id
ORDER BY p.period, d.occurred_at, d.event_id
