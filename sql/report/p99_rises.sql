-- description: Where the p99 of a latency rose most beside the windows before it, in the shown period and slice
-- grain: period, choice
-- reads: goodput, shown_periods, shown_slices
-- unit: seconds; of what workloads did in pools where the slice is of such, else of the slice itself; before_s: the median of the last 3 windows before began_at; other_rises: at other times or places, the largest three
WITH chosen AS (
    SELECT p.period, p.drawn_s, s.choice, g.*
    FROM goodput AS g
    JOIN shown_periods AS p ON g.window_s = p.drawn_s AND g.window_start >= p.from_at AND g.window_start < p.until_at
    JOIN shown_slices AS s
        ON s.slice IN ('overall', 'workload', 'pool')
        AND coalesce(s.workload = g.workload, s.workload IS NULL) AND coalesce(s.pool = g.pool, s.pool IS NULL)
    WHERE g.slice = 'workload_pool'
    UNION ALL
    SELECT p.period, p.drawn_s, s.choice, g.*
    FROM goodput AS g
    JOIN shown_periods AS p ON g.window_s = p.drawn_s AND g.window_start >= p.from_at AND g.window_start < p.until_at
    JOIN shown_slices AS s
        ON s.slice = g.slice AND s.slice_value IS NOT DISTINCT FROM g.slice_value AND s.workload IS NOT DISTINCT FROM g.workload
        AND s.model IS NOT DISTINCT FROM g.model AND s.pool IS NOT DISTINCT FROM g.pool AND s.route IS NOT DISTINCT FROM g.route
    WHERE s.slice NOT IN ('overall', 'workload', 'pool')
),
measured AS (
    SELECT *, 'ttft' AS metric, p99_ttft_s AS p99, n_ttft AS n FROM chosen
    UNION ALL
    SELECT *, 'e2e', p99_e2e_s, n_e2e FROM chosen
),
-- of fewer than 100 answers a p99 is the slowest of them
seen AS (
    SELECT
        period, choice, drawn_s, slice, slice_value, workload, model, pool, route, metric, window_start AS at, p99, n,
        [slice, slice_value, workload, model, pool, route, metric]::VARCHAR[] AS series
    FROM measured
    WHERE n >= 100 AND NOT partial
),
placed AS (
    SELECT *, median(p99) OVER before AS usual, max(p99) OVER before AS highest, count(*) OVER before AS windows_before
    FROM seen
    WINDOW before AS (
        PARTITION BY period, choice, series ORDER BY seen.at
        RANGE BETWEEN to_seconds(12 * drawn_s) PRECEDING AND to_microseconds(1) PRECEDING
    )
),
-- a p99 sways: one that rose is above all of them, by half of what is usual, and by a tenth of a second
judged AS (
    SELECT *, p99 > highest AND p99 >= 1.5 * usual AND p99 - usual >= 0.1 AS is_rise
    FROM placed
    WHERE windows_before >= 3
),
peaks AS (
    FROM judged
    QUALIFY row_number() OVER (PARTITION BY period, choice ORDER BY is_rise DESC, p99 / nullif(usual, 0) DESC NULLS LAST, judged.at, metric DESC, workload, pool) = 1
),
low AS (
    SELECT
        k.period, k.choice,
        max(o.at) FILTER (WHERE o.at < k.at) AS until_at,
        min(o.at) FILTER (WHERE o.at > k.at) AS over_at
    FROM peaks AS k
    JOIN seen AS o USING (period, choice, series)
    WHERE o.p99 < 1.5 * k.usual
    GROUP BY k.period, k.choice
),
begun AS (
    SELECT k.*, l.over_at, min(o.at) AS began_at
    FROM peaks AS k
    JOIN low AS l USING (period, choice)
    JOIN seen AS o ON o.period = k.period AND o.choice = k.choice AND o.series = k.series AND o.at > l.until_at AND o.at <= k.at
    GROUP BY ALL
),
-- of windows in a row that rise the highest, and of one place and time the latency that rose more
others AS (
    SELECT
        o.period, o.choice, o.at, o.p99, o.usual, CASE o.metric WHEN 'ttft' THEN 'first token' ELSE 'whole answer' END AS latency,
        row_number() OVER (PARTITION BY o.period, o.choice ORDER BY o.p99 / o.usual DESC, o.at, o.series) AS nth,
        concat_ws(', ', CASE WHEN o.workload IS NOT NULL THEN 'workload ' || o.workload END, CASE WHEN o.pool IS NOT NULL THEN 'pool ' || o.pool END) AS place
    FROM judged AS o
    JOIN begun AS b USING (period, choice)
    LEFT JOIN judged AS n ON n.period = o.period AND n.choice = o.choice AND n.series = o.series AND n.at = o.at + to_seconds(o.drawn_s) AND n.is_rise
    WHERE o.is_rise AND (n.p99 > o.p99) IS NOT true
        AND NOT (
            o.workload IS NOT DISTINCT FROM b.workload AND o.pool IS NOT DISTINCT FROM b.pool AND o.route IS NOT DISTINCT FROM b.route
            AND o.model IS NOT DISTINCT FROM b.model AND o.at >= b.began_at AND coalesce(o.at < b.over_at, true)
        )
    QUALIFY row_number() OVER (PARTITION BY o.period, o.choice, o.at, o.workload, o.model, o.pool, o.route ORDER BY o.p99 / o.usual DESC, o.metric DESC) = 1
),
named_rises AS (
    SELECT
        period, choice,
        string_agg(format('{}{} at {}: {:.3g} s beside {:.3g} s', latency, coalesce(' of ' || nullif(place, ''), ''), strftime(others.at AT TIME ZONE 'UTC', '%d %b %H:%M'), p99, usual), '; ' ORDER BY nth) FILTER (WHERE nth <= 3)
            || CASE WHEN count(*) > 3 THEN format('; and {:,} more', count(*) - 3) ELSE '' END AS other_rises
    FROM others
    GROUP BY period, choice
),
-- what grows for an hour is compared with what it was just before, not with how it began
just_before AS (
    SELECT b.period, b.choice, o.at, o.p99
    FROM begun AS b
    JOIN seen AS o
        ON o.period = b.period AND o.choice = b.choice AND o.series = b.series
        AND o.at >= b.began_at - to_seconds(12 * b.drawn_s) AND o.at < b.began_at
    QUALIFY row_number() OVER (PARTITION BY b.period, b.choice ORDER BY o.at DESC) <= 3
)
SELECT
    b.period, b.choice, b.drawn_s, b.slice, b.slice_value, b.workload, b.model, b.pool, b.route, b.metric, b.is_rise,
    b.at AS peak_at, b.began_at, b.over_at, b.n, b.p99 AS p99_s, median(o.p99) AS before_s, count(*) AS windows_before, list(o.at ORDER BY o.at) AS before_at,
    any_value(t.other_rises) AS other_rises
FROM begun AS b
JOIN just_before AS o USING (period, choice)
LEFT JOIN named_rises AS t USING (period, choice)
GROUP BY ALL
