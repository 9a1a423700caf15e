-- description: The latest disruption that is over and has a price, else the latest, in one line: what was done to which pool, how long it took, what it cost
-- grain: one row at most
-- reads: disruptions
SELECT
    format('Latest disruption{}: {} of {} at {} UTC: {:.0f} min, {}; {}{}',
        CASE WHEN row_number() OVER (ORDER BY occurred_at DESC, event_id) > 1 THEN ' with a price' ELSE '' END,
        kind,
        coalesce(pool, 'the fleet'),
        strftime(occurred_at AT TIME ZONE 'UTC', '%Y-%m-%d %H:%M'),
        duration_s / 60,
        CASE ended_by WHEN 'recovered' THEN 'then recovered' ELSE 'not recovered by its cap' END,
        CASE WHEN round(lost_accepted) > 0 THEN format('{:.0f}{} accepted requests lost, ', lost_accepted,
            coalesce(format(' ({:.0f}..{:.0f})', lost_accepted_ci_low, lost_accepted_ci_high), '')) ELSE '' END,
        CASE
            WHEN no_interval = 'load_unmatched' THEN 'what it cost is not known: no undisturbed window before it had its load'
            WHEN no_interval = 'few_windows' THEN 'what it cost is not known: too few undisturbed windows before it'
            WHEN no_interval = 'partly_observed' THEN 'what it cost is not known: telemetry does not have all of its windows'
            WHEN no_interval = 'price_unmatched' THEN 'what it cost is not known: the price of replicas before it cannot be told from their use'
            WHEN excess_cost_usd IS NULL THEN 'its cost is not known'
            ELSE format('{} {} than steady', dollars(abs(excess_cost_usd)), CASE WHEN excess_cost_usd < 0 THEN 'less' ELSE 'more' END)
                || coalesce(CASE
                    WHEN excess_cost_ci_low_usd < 0 THEN format(' ({} less to {} {})', dollars(-excess_cost_ci_low_usd),
                        dollars(abs(excess_cost_ci_high_usd)), CASE WHEN excess_cost_ci_high_usd < 0 THEN 'less' ELSE 'more' END)
                    ELSE format(' ({:.2f}..{:.2f})', excess_cost_ci_low_usd, excess_cost_ci_high_usd)
                END, '')
        END) AS line
FROM disruptions
WHERE ended_by <> 'open' AND baseline <> 'none'
ORDER BY excess_cost_usd IS NULL, occurred_at DESC, event_id
LIMIT 1
