-- description: Where the p99 of a latency rose most beside the windows before it, in the shown period and slice
-- grain: period, choice
-- reads: goodput, shown_periods, shown_slices
-- unit: seconds; of what workloads did in pools where the slice is of such, else of the slice itself; before_s: the median of the last 3 windows before began_at
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
        hash(slice, slice_value, workload, model, pool, route, metric) AS series
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
peaks AS (
    SELECT *, p99 > highest AND p99 >= 1.5 * usual AND p99 - usual >= 0.1 AS is_rise
    FROM placed
    WHERE windows_before >= 3
    QUALIFY row_number() OVER (PARTITION BY period, choice ORDER BY is_rise DESC, p99 / nullif(usual, 0) DESC NULLS LAST, placed.at, metric DESC, workload, pool) = 1
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
    b.at AS peak_at, b.began_at, b.over_at, b.n, b.p99 AS p99_s, median(o.p99) AS before_s, count(*) AS windows_before, list(o.at ORDER BY o.at) AS before_at
FROM begun AS b
JOIN just_before AS o USING (period, choice)
GROUP BY ALL
