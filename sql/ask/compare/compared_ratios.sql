-- description: goodput_ratio and quality_ratio of each side, as a whole and slice by slice, with the wider of their variances over requests, sessions and windows
-- grain: side, dimension, place
-- reads: compared_clustered, compared_totals
WITH widest AS (
    SELECT
        side, dimension, place,
        arg_max({variance: estimate_variance, df: df}, [estimate_variance * student_beyond(df, 0.025) ** 2, df]) AS estimated,
        arg_max({variance: quality_variance, df: quality_df}, [quality_variance * student_beyond(quality_df, 0.025) ** 2, quality_df]) AS judged,
        -- of the difference between sides that share windows these count, or the windows of both
        arg_max({variance: estimate_variance, df: df}, [estimate_variance * student_beyond(df, 0.025) ** 2, df])
            FILTER (WHERE kind <> 'window') AS estimated_alone,
        arg_max({variance: quality_variance, df: quality_df}, [quality_variance * student_beyond(quality_df, 0.025) ** 2, quality_df])
            FILTER (WHERE kind <> 'window') AS judged_alone,
        any_value(estimate_variance) FILTER (WHERE kind = 'request') AS estimate_at_random,
        any_value(quality_variance) FILTER (WHERE kind = 'request') AS quality_at_random,
        -- what came session by session is worth no more than its sessions
        min(units) FILTER (WHERE kind <> 'window') AS draws,
        min(draws) FILTER (WHERE kind <> 'window') / max(draws) FILTER (WHERE kind = 'request') AS draws_per_label
    FROM compared_clustered
    GROUP BY side, dimension, place
),
shares AS (
    SELECT
        t.*,
        t.estimate / t.n AS goodput_ratio,
        w.estimated.variance / t.n ** 2 AS goodput_variance,
        w.estimated.df AS goodput_df,
        w.judged.variance AS quality_variance,
        w.judged.df AS quality_df,
        {variance: w.estimated_alone.variance / t.n ** 2, df: w.estimated_alone.df} AS goodput_alone,
        w.judged_alone AS quality_alone,
        w.draws * coalesce(ratio(t.labelled, t.need - t.unjudged), 1) AS drawn_size,
        t.weighted_labels * w.draws_per_label AS quality_drawn_size,
        -- labels of a cluster are worth fewer; of one stratum the estimate's own size is all there is
        list_transform(t.strata, lambda s: {part: s.part, value: s.value, size: s.size * least(1, coalesce(ratio(w.estimate_at_random, w.estimated.variance), 1))})
            AS goodput_strata,
        list_transform(t.quality_strata, lambda s: {part: s.part, value: s.value, size: s.size * least(1, coalesce(ratio(w.quality_at_random, w.judged.variance), 1))})
            AS judged_strata
    FROM compared_totals AS t
    JOIN widest AS w USING (side, dimension, place)
)
SELECT
    side, dimension, place, n, from_tokens, to_tokens,
    {
        scale: 'share', value: goodput_ratio, variance: goodput_variance, df: goodput_df, alone: goodput_alone,
        size: CASE WHEN goodput_variance > 0 THEN goodput_ratio * (1 - goodput_ratio) / goodput_variance ELSE drawn_size END,
        strata: CASE WHEN len(goodput_strata) > 1 THEN goodput_strata ELSE [] END,
        below: unjudged / n, above: 0,
        label_variance: label_variance / n ** 2, drawn_variance: drawn_variance / n ** 2
    } AS goodput_ratio,
    CASE WHEN quality_ratio IS NOT NULL THEN {
        scale: 'share', value: quality_ratio, variance: quality_variance, df: quality_df, alone: quality_alone,
        size: CASE WHEN quality_variance > 0 THEN quality_ratio * (1 - quality_ratio) / quality_variance ELSE quality_drawn_size END,
        strata: CASE WHEN len(judged_strata) > 1 THEN judged_strata ELSE [] END,
        below: 0, above: 0,
        label_variance: quality_label_variance, drawn_variance: quality_drawn_variance
    } END AS quality_ratio
FROM shares
