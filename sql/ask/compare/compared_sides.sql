-- description: Each side as a whole: its counts, and its rates with their variances over windows
-- grain: side
-- unit: rates are NULL where a side has no time of its own, only answers to what arrived before
-- reads: compared_totals, compared_windows
WITH windowed AS (
    SELECT
        *,
        length_s / sum(length_s) OVER of_side AS part,
        sum(length_s) OVER of_side / base_s AS worth
    FROM compared_windows
    WINDOW of_side AS (PARTITION BY side)
),
residuals AS (
    SELECT
        *,
        succeeded - part * sum(succeeded) OVER of_side AS succeeded_residual,
        estimate - part * sum_steady(estimate) OVER of_side AS estimate_residual
    FROM windowed
    WINDOW of_side AS (PARTITION BY side)
),
-- a window that is cut is as much of one as it is long: less than two show nothing of how windows vary
summed AS (
    SELECT
        side,
        count(*) AS windows,
        any_value(worth) AS worth,
        sum(length_s)::DOUBLE AS time_s,
        sum(succeeded)::BIGINT AS succeeded,
        CASE WHEN any_value(worth) >= 2
            THEN sum(succeeded_residual ** 2 ORDER BY start_s) * any_value(worth) / (any_value(worth) - 1) END AS succeeded_variance,
        CASE WHEN any_value(worth) >= 2
            THEN sum(estimate_residual ** 2 ORDER BY start_s) * any_value(worth) / (any_value(worth) - 1) END AS estimate_variance
    FROM residuals
    GROUP BY side
),
-- at least what as many independent requests would have
floors AS (
    SELECT
        w.*,
        greatest(1, w.succeeded) AS succeeded_floor,
        greatest(1, t.estimate + t.label_variance) AS estimate_floor,
        coalesce(student_beyond(worth - 1, 0.025) / normal_beyond(0.025), 0) ** 2 AS widening,
        t.n, t.accepted, t.need, t.labelled, t.unjudged, t.estimate, t.label_variance, t.drawn_variance
    FROM summed AS w
    JOIN (FROM compared_totals WHERE dimension = 'all') AS t USING (side)
)
SELECT
    side, n, succeeded, is_low_n(succeeded) AS low_n, accepted, need, labelled, unjudged, estimate, label_variance, drawn_variance, windows, time_s,
    CASE WHEN time_s > 0 THEN {
        scale: 'rate', value: succeeded / time_s,
        variance: CASE WHEN succeeded_variance * widening > succeeded_floor THEN succeeded_variance ELSE succeeded_floor END / time_s ** 2,
        df: CASE WHEN succeeded_variance * widening > succeeded_floor THEN worth - 1 ELSE 'infinity'::DOUBLE END,
        alone: {variance: succeeded_floor / time_s ** 2, df: 'infinity'::DOUBLE},
        size: NULL, strata: [], below: 0, above: 0, label_variance: 0, drawn_variance: 0
    } END AS throughput_rps,
    CASE WHEN time_s > 0 THEN {
        scale: 'rate', value: estimate / time_s,
        variance: CASE WHEN estimate_variance * widening > estimate_floor THEN estimate_variance ELSE estimate_floor END / time_s ** 2,
        df: CASE WHEN estimate_variance * widening > estimate_floor THEN worth - 1 ELSE 'infinity'::DOUBLE END,
        alone: {variance: estimate_floor / time_s ** 2, df: 'infinity'::DOUBLE},
        size: NULL, strata: [], below: unjudged / time_s, above: 0,
        label_variance: label_variance / time_s ** 2, drawn_variance: drawn_variance / time_s ** 2
    } END AS goodput_rps
FROM floors
