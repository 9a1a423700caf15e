-- description: Labels of each load bin by workload: pass rates are estimated there, as labels are sampled workload by workload
-- grain: slice, name, load_bin, workload
-- reads: frontier_loads, knee_strata
WITH counted AS (
    SELECT
        slice, name, load_bin, workload, policy,
        sum(need)::BIGINT AS need,
        sum(labelled)::BIGINT AS labelled,
        ratio(sum(accepted), sum(labelled)) AS pass_rate
    FROM knee_strata
    JOIN frontier_loads USING (slice, name, window_start)
    GROUP BY ALL
)
SELECT
    *,
    -- of the estimated number of accepted requests: none where all are labelled, or none is
    CASE WHEN policy = 'estimate' AND labelled BETWEEN 1 AND need - 1
        THEN need ** 2 * pass_rate * (1 - pass_rate) / drawn_size(labelled, need) ELSE 0 END AS label_variance,
    -- requests of which nothing is known: they give bounds
    CASE WHEN policy = 'fail' OR (policy = 'estimate' AND labelled > 0) THEN 0 ELSE need - labelled END AS open_below,
    CASE WHEN policy = 'fail' THEN need - labelled ELSE 0 END AS open_above
FROM counted
