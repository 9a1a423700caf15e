-- description: The price of the latest disruption that is over, in one line: what was done to which pool, how long it took, what it cost
-- grain: one row at most
-- reads: disruptions
SELECT
    format('Latest disruption: {} of {} at {} UTC: {:.0f} min, {}; {}{}',
        kind,
        coalesce(pool, 'the fleet'),
        strftime(occurred_at AT TIME ZONE 'UTC', '%Y-%m-%d %H:%M'),
        duration_s / 60,
        CASE ended_by WHEN 'recovered' THEN 'then recovered' ELSE 'not recovered by its cap' END,
        CASE WHEN round(lost_accepted) > 0 THEN format('{:.0f} accepted requests lost, ', lost_accepted) ELSE '' END,
        coalesce(
            CASE WHEN excess_cost_usd < 0
                THEN format('{} less than steady ({:.2f}..{:.2f})',
                    dollars(-excess_cost_usd), -excess_cost_ci_high_usd, -excess_cost_ci_low_usd)
                ELSE format('{} more than steady ({:.2f}..{:.2f})',
                    dollars(excess_cost_usd), excess_cost_ci_low_usd, excess_cost_ci_high_usd) END,
            'its cost is not known')) AS line
FROM disruptions
WHERE ended_by <> 'open' AND baseline <> 'none'
ORDER BY occurred_at DESC, event_id
LIMIT 1
