-- description: Goodput ratio and cost per accepted request of each event's baseline, with their 95 % intervals: what such windows have on average (docs/semantics.md#disruptions)
-- grain: event_id
-- reads: event_accepted, event_samples
-- unit: windows are the sample: the spread of their residuals with Student's t, at least what the labels leave open
WITH windows AS (
    SELECT * FROM event_accepted WHERE is_baseline
),
totals AS (
    SELECT
        event_id,
        sum(offered)::BIGINT AS offered,
        sum(accepted ORDER BY start_s) AS accepted,
        sum(accepted ORDER BY start_s) FILTER (WHERE cost_usd IS NOT NULL) AS paid_accepted,
        ratio(sum(accepted ORDER BY start_s), sum(offered)) AS goodput_ratio,
        ratio(sum(cost_usd ORDER BY start_s), paid_accepted) AS cost_per_accepted_usd
    FROM windows
    GROUP BY event_id
),
spread AS (
    SELECT
        event_id,
        total_half(count(*), sum((accepted - offered * goodput_ratio) ** 2 ORDER BY start_s)) / any_value(offered_in_all) AS goodput_half,
        total_half(count(cost_usd), sum((cost_usd - accepted * cost_per_accepted_usd) ** 2 ORDER BY start_s))
            / any_value(paid_accepted) AS cost_half
    FROM windows
    JOIN (SELECT * EXCLUDE (offered, accepted), offered AS offered_in_all FROM totals) USING (event_id)
    GROUP BY event_id
)
SELECT
    event_id,
    {
        value: goodput_ratio,
        low: greatest(0, goodput_ratio - at_least(goodput_half, coalesce(below, 0) / offered) - coalesce(open_below, 0) / offered),
        high: least(1, goodput_ratio + at_least(goodput_half, coalesce(above, 0) / offered) + coalesce(open_above, 0) / offered)
    } AS goodput,
    {
        value: cost_per_accepted_usd,
        -- greatest() alone would make a cost that is not known one of at least 0
        low: CASE WHEN cost_per_accepted_usd IS NOT NULL THEN greatest(0,
            cost_per_accepted_usd * accepted / (accepted + coalesce(open_above, 0))
            - at_least(cost_half, cost_per_accepted_usd * coalesce(above, 0) / accepted)) END,
        -- where all of it may have failed there is no upper end
        high: CASE WHEN accepted > coalesce(open_below, 0) THEN cost_per_accepted_usd * accepted / (accepted - coalesce(open_below, 0))
            + at_least(cost_half, cost_per_accepted_usd * coalesce(below, 0) / accepted) END
    } AS cost
FROM totals
JOIN spread USING (event_id)
LEFT JOIN (FROM event_samples WHERE is_baseline) USING (event_id)
