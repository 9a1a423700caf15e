-- description: Each shown period and slice in one row: what was accepted, how sure, what it cost; published windows added up
-- grain: period, choice
-- reads: goodput, shown_periods, shown_slices
-- unit: accepted, low, high: requests (or what the workload counts); ratios of offered; low and high are the ends of a 95 % interval
-- A period of one window shows that window's published interval. Of several windows those of samples are combined in quadrature,
-- as labels of different windows are different draws; what no sample covers has bounds, and bounds add up linearly
-- (docs/semantics.md#of-several-windows).
WITH counted AS (
    SELECT
        p.period, s.choice, g.*,
        g.goodput_rps * g.window_s AS estimate,
        g.goodput_ci_low_rps * g.window_s AS low,
        g.goodput_ci_high_rps * g.window_s AS high,
        g.definition IN ('full', 'estimated') AS is_sampled
    FROM goodput AS g
    JOIN shown_periods AS p ON g.window_s = p.whole_s AND g.window_start >= p.from_at AND g.window_start < p.until_at
    JOIN shown_slices AS s
        ON s.slice = g.slice AND s.slice_value IS NOT DISTINCT FROM g.slice_value AND s.workload IS NOT DISTINCT FROM g.workload
        AND s.model IS NOT DISTINCT FROM g.model AND s.pool IS NOT DISTINCT FROM g.pool AND s.route IS NOT DISTINCT FROM g.route
),
summed AS (
    SELECT
        period, choice,
        count(*) AS windows,
        sum(offered)::BIGINT AS offered,
        sum(failed)::BIGINT AS failed, sum(over_budget)::BIGINT AS over_budget, sum(slow)::BIGINT AS slow,
        sum(rejected)::BIGINT AS rejected, sum(ungated)::BIGINT AS ungated, sum(unevaluable)::BIGINT AS unevaluable,
        sum(unlabelled)::BIGINT AS unlabelled, sum(accepted)::BIGINT AS judged_accepted,
        CASE WHEN count(*) = count(estimate) THEN sum(estimate) END AS accepted,
        sum(CASE WHEN is_sampled THEN estimate ELSE low END)
            - coalesce(sqrt(sum((estimate - low) ** 2) FILTER (WHERE is_sampled)), 0) AS low,
        sum(CASE WHEN is_sampled THEN estimate ELSE high END)
            + coalesce(sqrt(sum((high - estimate) ** 2) FILTER (WHERE is_sampled)), 0) AS high,
        sum(need_label)::BIGINT AS need_label, sum(labelled)::BIGINT AS labelled,
        CASE
            WHEN bool_or(definition = 'unweighted') THEN 'unweighted'
            WHEN bool_and(definition = 'full') THEN 'full'
            WHEN bool_and(definition = 'latency_constrained') THEN 'latency_constrained'
            ELSE 'estimated'
        END AS definition,
        sum(output_token_goodput_tps * window_s) AS accepted_tokens,
        sum(cost_usd) AS cost_usd, bool_or(cost_usd IS NULL) AS has_unknown_cost,
        sum(wasted_ratio * cost_usd) / nullif(sum(cost_usd) FILTER (WHERE wasted_ratio IS NOT NULL), 0) AS wasted_ratio,
        -- the published interval where it is one window's; of several windows it is not known here
        CASE WHEN count(*) = 1 THEN any_value(cost_per_accepted_ci_low_usd) END AS price_low_usd,
        CASE WHEN count(*) = 1 THEN any_value(cost_per_accepted_ci_high_usd) END AS price_high_usd,
        sum(unobserved) AS unobserved,
        bool_or(partial) AS partial, bool_and(low_n) AS low_n
    FROM counted
    GROUP BY period, choice
)
SELECT
    *,
    accepted / nullif(offered, 0) AS ratio,
    low / nullif(offered, 0) AS ratio_low,
    high / nullif(offered, 0) AS ratio_high,
    CASE WHEN NOT has_unknown_cost THEN cost_usd / nullif(accepted, 0) END AS price_usd
FROM summed
