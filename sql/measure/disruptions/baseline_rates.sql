-- description: Goodput ratio and cost per accepted request of undisturbed windows at each disruption's load, with their 95 % intervals (docs/semantics.md#disruptions)
-- grain: event_id
-- reads: disruption_options, event_accepted, event_samples
-- unit: by lines through the windows' loads; windows are the sample: the spread of their residuals with Student's t, at least what
-- the labels leave open. NULL with a reason where no window shows such loads
WITH loads AS (
    SELECT event_id, bool_and(whole) AS is_whole, avg(arrivals) AS load, min(arrivals) AS least_load, max(arrivals) AS most_load
    FROM event_accepted
    WHERE NOT is_baseline
    GROUP BY event_id
),
windows AS (
    SELECT w.*, w.arrivals - l.load AS beyond, l.* EXCLUDE (event_id)
    FROM event_accepted AS w
    JOIN loads AS l USING (event_id)
    WHERE w.is_baseline
),
lines AS (
    SELECT
        event_id, any_value(is_whole) AS is_whole, bool_or(is_unmatched) AS is_unmatched,
        sum(offered)::BIGINT AS all_offered, sum(accepted ORDER BY start_s) AS all_accepted,
        any_value(is_whole) AND seen_at(any_value(load), any_value(least_load), any_value(most_load), min(arrivals), max(arrivals), any_value(load_tolerance_ratio)) AS is_seen,
        at_load(lines_through(beyond, weight, CASE WHEN cost_usd IS NOT NULL THEN weight END, offered, accepted, cost_usd, start_s)) AS there
    FROM windows
    CROSS JOIN disruption_options
    GROUP BY event_id
),
rates AS (
    SELECT
        *,
        CASE WHEN is_seen AND there.line.df > 0 THEN ratio(there.accepted, there.offered) END AS share,
        CASE WHEN is_seen AND there.paid.df > 0 THEN ratio(there.cost_usd, there.paid_accepted) END AS price
    FROM lines
),
halves AS (
    SELECT
        event_id,
        about_line(accepted - offered * share, beyond, start_s) AS of_share,
        about_line(cost_usd - accepted * price, beyond, start_s) AS of_price
    FROM windows
    JOIN rates USING (event_id)
    GROUP BY event_id
),
labels AS (
    SELECT
        r.event_id,
        {
            below: coalesce(below, 0), above: coalesce(above, 0), open_below: coalesce(open_below, 0), open_above: coalesce(open_above, 0)
        } AS labels
    FROM rates AS r
    LEFT JOIN (FROM event_samples WHERE is_baseline) USING (event_id)
)
SELECT
    event_id,
    share_of(share, line_half(there.line, of_share) / there.offered, all_offered, labels) AS goodput,
    price_of(price, line_half(there.paid, of_price) / there.paid_accepted, all_accepted, labels) AS cost,
    no_price(there, is_whole, is_seen, is_unmatched, price, cost) AS no_interval
FROM rates
JOIN halves USING (event_id)
JOIN labels USING (event_id)
