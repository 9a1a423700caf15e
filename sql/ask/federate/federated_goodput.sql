-- description: Windows of all lakes together: their counts, accepted requests and money added up (docs/scale.md#several-lakes)
-- grain: window_start, window_s, slice, slice_value, workload, model, pool, route
-- reads: goodput, period_accepted, published_until, shown_periods, shown_slices
-- unit: lakes: those that have the window; lakes_behind: those whose telemetry ends before the window does, and before that of the furthest lake: a part of theirs is still missing
-- Accepted requests have the interval of several windows, as lakes are independent of each other (docs/semantics.md#of-several-windows).
-- What one of the lakes does not know is not known of all: NULL.
WITH summed AS (
    SELECT
        p.period, s.choice, p.from_at AS window_start, p.whole_s AS window_s, p.until_at,
        s.slice, s.slice_value, s.workload, s.model, s.pool, s.route,
        count(*) AS lakes,
        CASE WHEN count(COLUMNS('^(offered|arrivals|succeeded|failed|ungated|over_budget|slow|rejected|unevaluable|unlabelled|accepted|queue_late|retries_late|prefill_late|work_late|need_label|labelled|unpriced)$')) = count(*)
            THEN sum(COLUMNS('^(offered|arrivals|succeeded|failed|ungated|over_budget|slow|rejected|unevaluable|unlabelled|accepted|queue_late|retries_late|prefill_late|work_late|need_label|labelled|unpriced)$'))::BIGINT
        END AS '\0',
        CASE WHEN bool_and(g.output_token_goodput_tps IS NOT NULL) THEN sum(g.output_token_goodput_tps) END AS output_token_goodput_tps,
        CASE WHEN bool_and(g.cost_usd IS NOT NULL) THEN sum(g.cost_usd) END AS cost_usd,
        -- errors of one lake have nothing to do with those of another
        CASE WHEN bool_and(g.cost_error_usd IS NOT NULL) THEN sqrt(sum(g.cost_error_usd ** 2)) END AS cost_error_usd,
        bool_or(g.partial) AS partial
    FROM goodput AS g
    JOIN shown_periods AS p ON p.whole_s = g.window_s AND p.from_at = g.window_start
    JOIN shown_slices AS s
        ON s.slice = g.slice AND s.slice_value IS NOT DISTINCT FROM g.slice_value AND s.workload IS NOT DISTINCT FROM g.workload
        AND s.model IS NOT DISTINCT FROM g.model AND s.pool IS NOT DISTINCT FROM g.pool AND s.route IS NOT DISTINCT FROM g.route
    GROUP BY p.period, s.choice, p.from_at, p.whole_s, p.until_at, s.slice, s.slice_value, s.workload, s.model, s.pool, s.route
),
furthest AS (
    SELECT max(until_at) AS until_at FROM published_until
),
behind AS (
    -- a window that is not over for any lake, such as that of today, is not held against those that have come as far as others
    SELECT p.period, count(*) AS lakes_behind
    FROM shown_periods AS p
    CROSS JOIN furthest AS f
    JOIN published_until AS u ON u.until_at IS NULL OR u.until_at < least(p.until_at, f.until_at)
    GROUP BY p.period
)
SELECT
    s.* EXCLUDE (period, choice, until_at, lakes),
    s.lakes, coalesce(b.lakes_behind, 0) AS lakes_behind,
    a.accepted / s.window_s AS goodput_rps, a.low / s.window_s AS goodput_ci_low_rps, a.high / s.window_s AS goodput_ci_high_rps,
    a.accepted / nullif(s.offered, 0) AS goodput_ratio,
    a.low / nullif(s.offered, 0) AS goodput_ratio_ci_low, a.high / nullif(s.offered, 0) AS goodput_ratio_ci_high,
    s.cost_usd / nullif(a.accepted, 0) AS cost_per_accepted_usd
FROM summed AS s
JOIN period_accepted AS a ON a.period = s.period AND a.choice = s.choice
LEFT JOIN behind AS b ON b.period = s.period
ORDER BY window_s, window_start, slice, slice_value, workload, model, pool, route
