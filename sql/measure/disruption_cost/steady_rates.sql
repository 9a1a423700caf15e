-- description: What a pool does per window while no operation disrupts it: totals, and how windows vary about them
-- grain: pool (NULL: all pools)
-- reads: kind_accepted, kind_samples
-- unit: windows are the sample, those of all pools at one time one; moments: sums of squares and products about the means
WITH times AS (
    SELECT
        pool, start_s,
        count(*) AS windows, sum(offered)::BIGINT AS offered, sum(accepted ORDER BY pool) AS accepted,
        CASE WHEN count(cost_usd) = count(*) THEN sum(cost_usd ORDER BY pool) END AS cost_usd
    FROM kind_accepted
    WHERE is_steady
    GROUP BY GROUPING SETS ((pool, start_s), (start_s))
),
totals AS (
    SELECT
        pool,
        count(*) AS units, sum(windows)::BIGINT AS windows,
        sum(offered)::BIGINT AS offered, sum(accepted ORDER BY start_s) AS accepted,
        CASE WHEN count(cost_usd) = count(*) THEN sum(cost_usd ORDER BY start_s) END AS cost_usd,
        {
            xx: regr_sxx(cost_usd, accepted ORDER BY start_s), xy: regr_sxy(cost_usd, accepted ORDER BY start_s),
            yy: regr_syy(cost_usd, accepted ORDER BY start_s)
        } AS moments,
        {
            xx: regr_sxx(accepted, offered ORDER BY start_s), xy: regr_sxy(accepted, offered ORDER BY start_s),
            yy: regr_syy(accepted, offered ORDER BY start_s)
        } AS share_moments
    FROM times
    GROUP BY pool
),
labelled AS (
    SELECT
        t.*,
        coalesce(greatest(s.below, s.above), 0) AS sampled,
        coalesce(s.open_below, 0) AS open_below, coalesce(s.open_above, 0) AS open_above,
        ratio(accepted, offered) AS goodput_ratio,
        at_least(total_half(units, residual_squares(share_moments, goodput_ratio)), coalesce(greatest(s.below, s.above), 0)) AS half
    FROM totals AS t
    LEFT JOIN (FROM kind_samples WHERE is_steady) AS s ON s.pool IS NOT DISTINCT FROM t.pool
),
worked AS (
    SELECT
        * EXCLUDE (cost_usd, accepted, moments, sampled),
        {
            units: units, cost_usd: cost_usd, accepted: accepted, moments: moments,
            sampled: sampled, open_below: open_below, open_above: open_above
        } AS work,
        ratio(cost_usd, accepted) AS price
    FROM labelled
)
SELECT
    pool, windows, offered, work,
    unit_cost(work, price) AS cost,
    {
        value: goodput_ratio,
        low: CASE WHEN half IS NOT NULL THEN greatest(0, goodput_ratio - (half + open_below) / offered) END,
        high: CASE WHEN half IS NOT NULL THEN least(1, goodput_ratio + (half + open_above) / offered) END
    } AS goodput
FROM worked
