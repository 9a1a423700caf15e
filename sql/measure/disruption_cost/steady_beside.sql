-- description: Goodput ratio and cost per accepted request of steady windows at each disruption's load, with their 95 % intervals (docs/semantics.md#disruptions)
-- grain: kind (NULL: all kinds), pool, stretch
-- reads: disruption_options, kind_accepted, steady_likes, steady_prices, steady_rates
-- unit: by lines through the windows' loads, as `baseline_rates` has them; labels count over all steady windows of the pool
WITH loads AS (
    SELECT
        kind, pool, stretch, bool_and(whole) AS is_whole,
        avg(arrivals) AS load, min(arrivals) AS least_load, max(arrivals) AS most_load
    FROM kind_accepted
    WHERE NOT is_steady
    GROUP BY ALL
),
windows AS (
    SELECT
        l.*, k.weight, w.* EXCLUDE (is_steady, kind, pool, stretch, disruption) REPLACE (
            w.cost_usd + CASE WHEN p.pool IS NULL THEN 0 ELSE p.usd END AS cost_usd),
        w.arrivals - l.load AS beyond,
        w.cost_usd IS NOT NULL AND p.pool IS NOT NULL AND p.usd IS NULL AS is_unmatched
    FROM steady_likes AS k
    JOIN loads AS l ON l.kind IS NOT DISTINCT FROM k.kind AND l.pool = k.pool AND l.stretch = k.stretch
    JOIN kind_accepted AS w ON w.is_steady AND w.pool = k.pool AND w.start_s = k.start_s
    LEFT JOIN steady_prices AS p
        ON p.kind IS NOT DISTINCT FROM k.kind AND p.pool = k.pool AND p.stretch = k.stretch AND p.start_s = k.start_s
),
lines AS (
    SELECT
        kind, pool, stretch, any_value(is_whole) AS is_whole, bool_or(is_unmatched) AS is_unmatched,
        any_value(is_whole) AND seen_at(any_value(load), any_value(least_load), any_value(most_load), min(arrivals), max(arrivals), any_value(load_tolerance_ratio)) AS is_seen,
        at_load(lines_through(beyond, weight, CASE WHEN cost_usd IS NOT NULL THEN weight END, offered, accepted, cost_usd, start_s)) AS there
    FROM windows
    CROSS JOIN disruption_options
    GROUP BY ALL
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
        r.kind, r.pool, r.stretch,
        about_line(w.accepted - w.offered * r.share, beyond, start_s) AS of_share,
        about_line(w.cost_usd - w.accepted * r.price, beyond, start_s) AS of_price
    FROM windows AS w
    JOIN rates AS r ON r.kind IS NOT DISTINCT FROM w.kind AND r.pool = w.pool AND r.stretch = w.stretch
    GROUP BY ALL
)
SELECT
    r.kind, r.pool, r.stretch,
    CASE WHEN price IS NOT NULL THEN {cost_usd: there.cost_usd, accepted: there.paid_accepted} END AS there,
    share_of(share, line_half(there.line, of_share) / there.offered, s.offered,
        {below: s.work.sampled, above: s.work.sampled, open_below: s.work.open_below, open_above: s.work.open_above}) AS goodput,
    price_of(price, line_half(there.paid, of_price) / there.paid_accepted, s.work.accepted,
        {below: s.work.sampled, above: s.work.sampled, open_below: s.work.open_below, open_above: s.work.open_above}) AS cost,
    no_price(there, is_whole, is_seen, is_unmatched, price, cost) AS no_price
FROM rates AS r
JOIN halves AS h ON h.kind IS NOT DISTINCT FROM r.kind AND h.pool = r.pool AND h.stretch = r.stretch
JOIN steady_rates AS s ON s.pool = r.pool
