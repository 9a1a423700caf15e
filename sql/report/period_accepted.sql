-- description: Accepted requests of each shown period and slice with their 95 % interval, from published windows
-- grain: period, choice
-- reads: goodput, period_windows, shown_periods, shown_slices
-- unit: requests, or what the workload counts; size: as many labels drawn one by one at random would be as sure
-- One window: its own interval. Several: the wider of square-and-add and Wilson's at the size that all labels are worth together;
-- windows of which no label says anything have bounds, and bounds add up linearly (docs/semantics.md#of-several-windows).
WITH whole AS (
    SELECT
        p.period, s.choice, g.window_start,
        g.goodput_rps * g.window_s AS estimate,
        g.goodput_ci_low_rps * g.window_s AS low, g.goodput_ci_high_rps * g.window_s AS high
    FROM goodput AS g
    JOIN shown_periods AS p ON g.window_s = p.whole_s AND g.window_start >= p.from_at AND g.window_start < p.until_at
    JOIN shown_slices AS s
        ON s.slice = g.slice AND s.slice_value IS NOT DISTINCT FROM g.slice_value AND s.workload IS NOT DISTINCT FROM g.workload
        AND s.model IS NOT DISTINCT FROM g.model AND s.pool IS NOT DISTINCT FROM g.pool AND s.route IS NOT DISTINCT FROM g.route
),
published AS (
    SELECT
        period, choice,
        count(*) AS windows,
        CASE WHEN count(*) = count(estimate) THEN sum(estimate) END AS accepted,
        any_value(low) AS only_low, any_value(high) AS only_high
    FROM whole
    GROUP BY period, choice
),
shares AS (
    -- an end that is a bound says nothing of how sure the labels are
    SELECT
        *, (estimate - ungated) / nullif(need, 0) AS share,
        CASE WHEN low > lower + 1e-6 THEN (low - ungated) / nullif(need, 0) END AS low_share,
        CASE WHEN high < upper - 1e-6 THEN (high - ungated) / nullif(need, 0) END AS high_share,
        high - low <= 1e-6 AS is_known
    FROM period_windows
),
solved AS (
    -- Wilson's interval, solved for its size: (share - end) ** 2 = z ** 2 x end x (1 - end) / size
    SELECT
        *,
        least(
            1.959963984540054 ** 2 * low_share * (1 - low_share) / nullif(share - low_share, 0) ** 2,
            1.959963984540054 ** 2 * high_share * (1 - high_share) / nullif(high_share - share, 0) ** 2) AS own_size,
        labelled * (need - 1) / nullif(need - labelled, 0) AS size_if_alone
    FROM shares
),
compared AS (
    SELECT
        *,
        sum(size_if_alone) FILTER (WHERE own_size > 0) OVER shown / sum(own_size) FILTER (WHERE own_size > 0) OVER shown AS times_smaller
    FROM solved
    WINDOW shown AS (PARTITION BY period, choice)
),
sized AS (
    -- few labels leave both ends at their bounds: they are worth what as many drawn alone are, less what labels that are alike
    -- cost the other windows; where there are none of these, nobody knows, and bounds they stay
    SELECT
        *,
        coalesce(own_size, CASE WHEN times_smaller IS NOT NULL THEN size_if_alone / greatest(1, times_smaller) END) AS size
    FROM compared
),
sorted AS (
    SELECT
        *,
        coalesce(definition = 'estimated' AND size > 0 AND NOT is_known AND NOT is_of_several_workloads, false) AS is_sampled
    FROM sized
),
summed AS (
    SELECT
        period, choice,
        coalesce(sum(low) FILTER (WHERE NOT is_sampled), 0) AS bound_low,
        coalesce(sum(high) FILTER (WHERE NOT is_sampled), 0) AS bound_high,
        coalesce(sum(estimate) FILTER (WHERE is_sampled), 0) AS sampled,
        coalesce(sum(ungated) FILTER (WHERE is_sampled), 0) AS ungated,
        coalesce(sum(need) FILTER (WHERE is_sampled), 0) AS need,
        sum((estimate - low) ** 2) FILTER (WHERE is_sampled) AS below, sum((high - estimate) ** 2) FILTER (WHERE is_sampled) AS above,
        sum(need) FILTER (WHERE is_sampled) ** 2 / sum(need ** 2 / size) FILTER (WHERE is_sampled) AS size,
        sum(lower) FILTER (WHERE is_sampled) AS lower, sum(upper) FILTER (WHERE is_sampled) AS upper
    FROM sorted
    GROUP BY period, choice
),
pooled AS (
    SELECT *, (sampled - ungated) / nullif(need, 0) AS share, 1.959963984540054 ** 2 / size AS z2 FROM summed
),
ends AS (
    SELECT
        *,
        ungated + need * (share + z2 / 2) / (1 + z2) AS middle,
        need * sqrt(z2 * share * (1 - share) + z2 ** 2 / 4) / (1 + z2) AS half
    FROM pooled
)
SELECT
    p.period, p.choice, p.windows, p.accepted,
    CASE WHEN p.windows = 1 THEN p.only_low
        ELSE e.bound_low + coalesce(greatest(e.lower, least(e.sampled - sqrt(e.below), e.middle - e.half)), 0) END AS low,
    CASE WHEN p.windows = 1 THEN p.only_high
        ELSE e.bound_high + coalesce(least(e.upper, greatest(e.sampled + sqrt(e.above), e.middle + e.half)), 0) END AS high
FROM published AS p
JOIN ends AS e USING (period, choice)
