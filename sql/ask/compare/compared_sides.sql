-- description: Each side as a whole: its counts, and its rates with their variances over windows
-- grain: side
-- reads: compared_totals, compared_windows
WITH windowed AS (
    SELECT
        side,
        count(*) AS windows,
        count(*) * any_value(base_s) AS time_s,
        sum(succeeded)::BIGINT AS succeeded,
        var_samp(succeeded) * count(*) AS succeeded_variance,
        var_samp(estimate) * count(*) AS estimate_variance
    FROM compared_windows
    GROUP BY side
),
-- at least what as many independent requests would have
floors AS (
    SELECT
        w.*,
        greatest(1, w.succeeded) AS succeeded_floor,
        greatest(1, t.estimate + t.label_variance) AS estimate_floor,
        coalesce(student_beyond(windows - 1, 0.025) / normal_beyond(0.025), 0) ** 2 AS widening,
        t.n, t.accepted, t.need, t.labelled, t.unjudged, t.estimate, t.label_variance, t.drawn_variance
    FROM windowed AS w
    JOIN (FROM compared_totals WHERE dimension = 'all') AS t USING (side)
)
SELECT
    side, n, succeeded, is_low_n(succeeded) AS low_n, accepted, need, labelled, unjudged, estimate, label_variance, drawn_variance, windows, time_s,
    {
        scale: 'rate', value: succeeded / time_s,
        variance: CASE WHEN succeeded_variance * widening > succeeded_floor THEN succeeded_variance ELSE succeeded_floor END / time_s ** 2,
        df: CASE WHEN succeeded_variance * widening > succeeded_floor THEN windows - 1 ELSE 'infinity'::DOUBLE END,
        alone: {variance: succeeded_floor / time_s ** 2, df: 'infinity'::DOUBLE},
        size: NULL, strata: [], below: 0, above: 0, label_variance: 0, drawn_variance: 0
    } AS throughput_rps,
    {
        scale: 'rate', value: estimate / time_s,
        variance: CASE WHEN estimate_variance * widening > estimate_floor THEN estimate_variance ELSE estimate_floor END / time_s ** 2,
        df: CASE WHEN estimate_variance * widening > estimate_floor THEN windows - 1 ELSE 'infinity'::DOUBLE END,
        alone: {variance: estimate_floor / time_s ** 2, df: 'infinity'::DOUBLE},
        size: NULL, strata: [], below: unjudged / time_s, above: 0,
        label_variance: label_variance / time_s ** 2, drawn_variance: drawn_variance / time_s ** 2
    } AS goodput_rps
FROM floors
