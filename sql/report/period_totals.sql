-- description: Each shown period and slice in one row: what was accepted, how sure, what it cost; published windows added up
-- grain: period, choice
-- reads: goodput, period_accepted, shown_periods, shown_slices, unlabelled_excess, waste
-- unit: accepted, low, high: requests (or what the workload counts); ratios of offered; low and high are the ends of a 95 % interval; wasted_ratio of what has a price
-- unit: unpriced: parts of the work whose cost is not known and not in cost_usd, so that a price has no upper end
WITH summed AS (
    SELECT
        p.period, s.choice,
        sum(g.offered)::BIGINT AS offered,
        sum(g.need_label)::BIGINT AS need_label, sum(g.labelled)::BIGINT AS labelled,
        CASE
            WHEN bool_or(g.definition = 'unweighted') THEN 'unweighted'
            WHEN bool_and(g.definition = 'full') THEN 'full'
            WHEN bool_and(g.definition = 'latency_constrained') THEN 'latency_constrained'
            ELSE 'estimated'
        END AS definition,
        sum(g.output_token_goodput_tps * g.window_s) AS accepted_tokens,
        sum(g.cost_usd) AS cost_usd, bool_or(g.cost_usd IS NULL) AS has_unknown_cost,
        sum(g.wasted_ratio * g.cost_usd) / nullif(sum(g.cost_usd) FILTER (WHERE g.wasted_ratio IS NOT NULL), 0) AS wasted_ratio,
        CASE WHEN count(*) = count(g.cost_error_usd) THEN sum(g.cost_error_usd) END AS cost_error_usd,
        any_value(g.cost_per_accepted_ci_low_usd) AS only_price_low_usd,
        any_value(g.cost_per_accepted_ci_high_usd) AS only_price_high_usd,
        coalesce(sum(g.unpriced), 0)::BIGINT AS unpriced,
        sum(g.unobserved) AS unobserved,
        -- as is_low_n of the macros: a page shows this text to readers, who run it without them
        bool_or(g.partial) AS partial, sum(g.succeeded - g.unevaluable) < 100 AS low_n
    FROM goodput AS g
    JOIN shown_periods AS p ON g.window_s = p.whole_s AND g.window_start >= p.from_at AND g.window_start < p.until_at
    JOIN shown_slices AS s
        ON s.slice = g.slice AND s.slice_value IS NOT DISTINCT FROM g.slice_value AND s.workload IS NOT DISTINCT FROM g.workload
        AND s.model IS NOT DISTINCT FROM g.model AND s.pool IS NOT DISTINCT FROM g.pool AND s.route IS NOT DISTINCT FROM g.route
    GROUP BY p.period, s.choice
),
buckets AS (
    SELECT p.period, s.choice, w.bucket, sum(w.usd) AS usd
    FROM waste AS w
    JOIN shown_periods AS p ON w.window_s = p.whole_s AND w.window_start >= p.from_at AND w.window_start < p.until_at
    JOIN shown_slices AS s
        ON s.slice = w.slice AND s.slice_value IS NOT DISTINCT FROM w.slice_value AND s.workload IS NOT DISTINCT FROM w.workload
        AND s.model IS NOT DISTINCT FROM w.model AND s.pool IS NOT DISTINCT FROM w.pool AND s.route IS NOT DISTINCT FROM w.route
    GROUP BY p.period, s.choice, w.bucket
),
leaking AS (
    SELECT period, choice, list(bucket ORDER BY usd DESC, bucket) FILTER (WHERE usd > 0 AND bucket NOT IN ('accepted', 'unlabelled')) AS leaks
    FROM buckets
    GROUP BY period, choice
),
added AS (
    SELECT
        s.* REPLACE (s.accepted_tokens - coalesce(u.excess_tokens, 0) AS accepted_tokens),
        a.windows, a.accepted - coalesce(u.excess, 0) AS accepted, a.low, a.high
    FROM summed AS s
    JOIN period_accepted AS a USING (period, choice)
    LEFT JOIN unlabelled_excess AS u USING (period, choice)
)
SELECT
    s.* EXCLUDE (only_price_low_usd, only_price_high_usd), l.leaks,
    EXISTS (FROM waste WHERE usd <> 0) AS has_costs,
    s.accepted / nullif(s.offered, 0) AS ratio,
    s.low / nullif(s.offered, 0) AS ratio_low,
    s.high / nullif(s.offered, 0) AS ratio_high,
    CASE WHEN NOT s.has_unknown_cost THEN s.cost_usd / nullif(s.accepted, 0) END AS price_usd,
    -- of several windows the ends of both, which is generous
    CASE
        WHEN s.windows = 1 THEN s.only_price_low_usd
        WHEN NOT s.has_unknown_cost THEN (s.cost_usd - s.cost_error_usd) / nullif(s.high, 0)
    END AS price_low_usd,
    CASE
        WHEN s.windows = 1 THEN s.only_price_high_usd
        WHEN NOT s.has_unknown_cost AND s.unpriced = 0 THEN (s.cost_usd + s.cost_error_usd) / nullif(s.low, 0)
    END AS price_high_usd
FROM added AS s
LEFT JOIN leaking AS l USING (period, choice)
