-- description: What was done to the fleet in a period, what each operation cost, and what judges said before and after
-- grain: period, event_id
-- reads: disruptions, operation_quality, shown_periods
-- unit: US dollars, requests, seconds; low and high are the ends of 95 % intervals
SELECT
    p.period, d.event_id, d.occurred_at AS at, d.ended_at, d.kind, d.pool, d.replica, d.revision, d.ended_by,
    d.duration_s, d.recovery_s, d.lost_accepted, d.lost_accepted_ci_low, d.lost_accepted_ci_high,
    d.excess_cost_usd, d.excess_cost_ci_low_usd AS low_usd, d.excess_cost_ci_high_usd AS high_usd, d.overlapping_events, d.priced_windows, d.no_interval,
    q.* EXCLUDE (event_id)
FROM disruptions AS d
JOIN shown_periods AS p ON d.occurred_at >= p.from_at AND d.occurred_at < p.until_at
LEFT JOIN operation_quality AS q USING (event_id)
ORDER BY p.period, d.occurred_at, d.event_id
