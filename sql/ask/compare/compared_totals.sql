-- description: Each side as a whole and slice by slice: counts, estimates, and the part of their variance that labels have
-- grain: side, dimension, place
-- reads: compared_strata
-- unit: label_variance: drawn without replacement, gone once all are labelled; drawn_variance: falls as one in the number of labels
WITH strata AS (
    SELECT
        *,
        sum(n) OVER (PARTITION BY side, dimension, place) AS total_n,
        CASE WHEN unjudged > 0 THEN accepted + unjudged ELSE accepted - passed + need * coalesce(pass_rate, 0) END AS estimate,
        need ** 2 * pass_rate * (1 - pass_rate) / labelled AS drawn,
        weight ** 2 * pass_rate * (1 - pass_rate) / labelled AS quality_drawn
    FROM compared_strata
)
SELECT
    side, dimension, place,
    min(from_tokens) AS from_tokens,
    max(to_tokens) AS to_tokens,
    sum(n)::BIGINT AS n,
    sum(accepted)::BIGINT AS accepted,
    sum(need)::BIGINT AS need,
    sum(labelled)::BIGINT AS labelled,
    sum(unjudged)::BIGINT AS unjudged,
    sum(estimate ORDER BY workload) AS estimate,
    coalesce(sum(drawn * labelled / drawn_size(labelled, need) ORDER BY workload), 0) AS label_variance,
    coalesce(sum(drawn ORDER BY workload) FILTER (WHERE labelled < need), 0) AS drawn_variance,
    sum(need_of_all)::BIGINT AS need_of_all,
    ratio(sum(need_of_all * pass_rate ORDER BY workload), sum(need_of_all)) AS quality_ratio,
    coalesce(sum(quality_drawn * (1 - labelled / need) ORDER BY workload), 0) AS quality_label_variance,
    coalesce(sum(quality_drawn ORDER BY workload) FILTER (WHERE labelled < need), 0) AS quality_drawn_variance,
    -- labels that a weighted mean of strata is worth (Kish 1965)
    1 / sum(weight ** 2 / labelled ORDER BY workload) AS weighted_labels,
    list({part: need / total_n, value: pass_rate, size: labelled::DOUBLE} ORDER BY workload) FILTER (WHERE labelled > 0 AND unjudged = 0) AS strata,
    list({part: weight, value: pass_rate, size: labelled::DOUBLE} ORDER BY workload) FILTER (WHERE weight IS NOT NULL) AS quality_strata
FROM strata
GROUP BY side, dimension, place
