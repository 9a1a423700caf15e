"""What the drill asks of many comparisons at once: sides A0 and B0 are the first, A1 and B1 the second, and so on."""

METRICS = {
    "quality_ratio": "(FROM compared_ratios WHERE dimension = 'all')",
    "goodput_ratio": "(FROM compared_ratios WHERE dimension = 'all')",
    "cost_per_accepted_usd": "compared_costs",
}

INTERVALS = """
    WITH paired AS MATERIALIZED (
        SELECT
            a.{metric} AS a, b.{metric} AS b,
            estimates_vary(a.{metric}, b.{metric}, s.over_windows) AS varies
        FROM (FROM {relation} WHERE starts_with(side, 'A')) AS a
        JOIN (FROM {relation} WHERE starts_with(side, 'B')) AS b ON substr(a.side, 2) = substr(b.side, 2)
        LEFT JOIN compared_shared AS s ON s.side = a.side AND s.dimension = 'all' AND s.metric = '{metric}'
        WHERE a.{metric} IS NOT NULL AND b.{metric} IS NOT NULL
    )
    SELECT unnest(estimates_apart(a, b, varies, student_beyond(varies.df, 0.025))) FROM paired
"""
SHOWN = """
    WITH paired AS MATERIALIZED (
        SELECT
            a.side[2:]::INTEGER AS run,
            a.goodput_ratio AS goodput_a, b.goodput_ratio AS goodput_b,
            c.cost_per_accepted_usd AS cost_a, d.cost_per_accepted_usd AS cost_b,
            estimates_vary(a.goodput_ratio, b.goodput_ratio, g.over_windows) AS goodput_varies,
            estimates_vary(c.cost_per_accepted_usd, d.cost_per_accepted_usd, s.over_windows) AS cost_varies
        FROM compared_ratios AS a
        JOIN compared_ratios AS b ON b.side = 'B' || a.side[2:] AND b.dimension = 'all'
        JOIN compared_costs AS c ON c.side = a.side
        JOIN compared_costs AS d ON d.side = b.side
        LEFT JOIN compared_shared AS g ON g.side = a.side AND g.dimension = 'all' AND g.metric = 'goodput_ratio'
        LEFT JOIN compared_shared AS s ON s.side = a.side AND s.metric = 'cost_per_accepted_usd'
        WHERE a.side[1] = 'A' AND a.dimension = 'all'
    )
    SELECT
        run,
        shows_among(goodput_a, goodput_b, goodput_varies, 1) AS goodput,
        shows_among(cost_a, cost_b, cost_varies, 1) AS cost
    FROM paired
"""
SLICES = """
    WITH metrics AS (
        SELECT side[1] AS side, side[2:]::INTEGER AS run, dimension, place, unnest([
            {metric: 'quality_ratio', estimate: quality_ratio},
            {metric: 'goodput_ratio', estimate: goodput_ratio}], max_depth := 2)
        FROM compared_ratios WHERE dimension <> 'all'
    ),
    paired AS MATERIALIZED (
        SELECT
            run, a.estimate AS a, b.estimate AS b,
            count(*) OVER (PARTITION BY run) AS comparisons,
            estimates_vary(a.estimate, b.estimate, s.over_windows) AS varies
        FROM (FROM metrics WHERE side = 'A') AS a
        JOIN (FROM metrics WHERE side = 'B') AS b USING (run, dimension, place, metric)
        LEFT JOIN (SELECT * EXCLUDE (side), side[2:]::INTEGER AS run FROM compared_shared) AS s
            USING (run, dimension, place, metric)
        WHERE a.estimate IS NOT NULL AND b.estimate IS NOT NULL
    ),
    apart AS (
        SELECT
            run, estimates_apart(a, b, varies, student_beyond(varies.df, 0.025 / comparisons)) AS apart,
            shows_among(a, b, varies, comparisons) AS shows_among
        FROM paired
    )
    SELECT
        run, count_if(apart.low > 0 OR apart.high < 0) AS different, avg(apart.high - apart.low) AS width,
        max(shows_among) AS slices
    FROM apart GROUP BY run
"""
