-- description: Each side as a whole and slice by slice: counts, estimates, and the part of their variance that labels have
-- grain: side, dimension, place
-- reads: compared_strata
-- unit: label_variance: drawn without replacement, gone once all are labelled; drawn_variance: falls as one in the number of labels
WITH strata AS (
    SELECT
        *,
        CASE WHEN unjudged > 0 THEN accepted + unjudged ELSE accepted - passed + need * coalesce(pass_rate, 0) END AS estimate,
        need ** 2 * pass_rate * (1 - pass_rate) / labelled AS drawn,
        weight ** 2 * pass_rate * (1 - pass_rate) / labelled AS quality_drawn
    FROM compared_strata
),
workloads AS (
    SELECT
        side, dimension, place, workload,
        min(from_tokens) AS from_tokens,
        max(to_tokens) AS to_tokens,
        sum(n) AS n,
        sum(accepted) AS accepted,
        sum(need) AS need,
        sum(labelled) AS labelled,
        sum(unjudged) AS unjudged,
        sum_steady(estimate) AS estimate,
        sum(labelled) FILTER (WHERE pass_rate IS NOT NULL)::DOUBLE AS judged,
        ratio(sum(need * pass_rate ORDER BY stratum), sum(need) FILTER (WHERE pass_rate IS NOT NULL)) AS pass_rate,
        sum(mixed ORDER BY stratum) AS mixed,
        sum(mixed * pass_rate ORDER BY stratum) AS mixed_passed,
        sum(weight ORDER BY stratum) AS weight,
        coalesce(sum(drawn * labelled / drawn_size(labelled, need) ORDER BY stratum), 0) AS label_variance,
        coalesce(sum(drawn ORDER BY stratum) FILTER (WHERE labelled < need), 0) AS drawn_variance,
        coalesce(sum(quality_drawn * (1 - labelled / need) ORDER BY stratum), 0) AS quality_label_variance,
        coalesce(sum(quality_drawn ORDER BY stratum) FILTER (WHERE labelled < need), 0) AS quality_drawn_variance,
        sum(weight ** 2 / labelled ORDER BY stratum) AS unevenness
    FROM strata
    GROUP BY ALL
),
shares AS (
    SELECT *, need / sum(n) OVER (PARTITION BY side, dimension, place) AS part FROM workloads
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
    sum(mixed ORDER BY workload) AS mixed,
    sum(estimate ORDER BY workload) AS estimate,
    sum(label_variance ORDER BY workload) AS label_variance,
    sum(drawn_variance ORDER BY workload) AS drawn_variance,
    ratio(sum(mixed_passed ORDER BY workload), sum(mixed ORDER BY workload)) AS quality_ratio,
    sum(quality_label_variance ORDER BY workload) AS quality_label_variance,
    sum(quality_drawn_variance ORDER BY workload) AS quality_drawn_variance,
    -- labels that a weighted mean of strata is worth (Kish 1965)
    1 / sum(unevenness ORDER BY workload) AS weighted_labels,
    list({part: part, value: pass_rate, size: judged} ORDER BY workload) FILTER (WHERE judged > 0) AS strata,
    list({part: weight, value: pass_rate, size: judged} ORDER BY workload) FILTER (WHERE weight IS NOT NULL) AS quality_strata
FROM shares
GROUP BY side, dimension, place
