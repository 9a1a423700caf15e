"""What the drill asks of many comparisons at once: sides A0 and B0 are the first, A1 and B1 the second, and so on."""

METRICS = {
    "quality_ratio": "(FROM compared_ratios WHERE dimension = 'all')",
    "goodput_ratio": "(FROM compared_ratios WHERE dimension = 'all')",
    "cost_per_accepted_usd": "compared_costs",
}

INTERVALS = """
    WITH paired AS (
        SELECT a.{metric} AS a, b.{metric} AS b, student_beyond(welch_df(a.{metric}, b.{metric}), 0.025) AS t
        FROM (FROM {relation} WHERE starts_with(side, 'A')) AS a
        JOIN (FROM {relation} WHERE starts_with(side, 'B')) AS b ON substr(a.side, 2) = substr(b.side, 2)
        WHERE a.{metric} IS NOT NULL AND b.{metric} IS NOT NULL
    )
    SELECT unnest(estimates_apart(a, b, t)) FROM paired
"""
SHOWN = """
    SELECT
        a.side[2:]::INTEGER AS run,
        shows_among(a.goodput_ratio, b.goodput_ratio, 1) AS goodput,
        shows_among(c.cost_per_accepted_usd, d.cost_per_accepted_usd, 1) AS cost
    FROM compared_ratios AS a
    JOIN compared_ratios AS b ON b.side = 'B' || a.side[2:] AND b.dimension = 'all'
    JOIN compared_costs AS c ON c.side = a.side
    JOIN compared_costs AS d ON d.side = b.side
    WHERE a.side[1] = 'A' AND a.dimension = 'all'
"""
SLICES = """
    WITH metrics AS (
        SELECT side[1] AS side, side[2:]::INTEGER AS run, dimension, place, unnest([
            {metric: 'quality', estimate: quality_ratio}, {metric: 'goodput', estimate: goodput_ratio}], max_depth := 2)
        FROM compared_ratios WHERE dimension <> 'all'
    ),
    paired AS (
        SELECT
            run, a.estimate AS a, b.estimate AS b,
            count(*) OVER (PARTITION BY run) AS comparisons,
            student_beyond(welch_df(a.estimate, b.estimate), 0.025 / comparisons) AS t
        FROM (FROM metrics WHERE side = 'A') AS a
        JOIN (FROM metrics WHERE side = 'B') AS b USING (run, dimension, place, metric)
        WHERE a.estimate IS NOT NULL AND b.estimate IS NOT NULL
    ),
    apart AS (
        SELECT run, estimates_apart(a, b, t) AS apart, shows_among(a, b, comparisons) AS shows_among FROM paired
    )
    SELECT
        run, count_if(apart.low > 0 OR apart.high < 0) AS different, avg(apart.high - apart.low) AS width,
        max(shows_among) AS slices
    FROM apart GROUP BY run
"""
