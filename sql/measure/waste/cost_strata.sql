-- description: The strata in which labels of a workload count as drawn at random, and what its requests cost in them (docs/semantics.md#unlabelled-cost)
-- grain: window_s, start_s, workload, model, pool, route, part_s
-- reads: ended_requests, ended_sessions, grains, step_costs, weighed_costs, workload_rules
-- What was spent where no request ended that needs a label is in the rest, as those of which fewer than two have one.
WITH counted AS (
    SELECT
        window_s, step_s // window_s * window_s AS start_s, window_part(step_s, window_s) AS part_s,
        e.workload, e.model, e.pool, e.route,
        sum(need)::BIGINT AS need, sum(labelled)::BIGINT AS labelled,
        coalesce(sum(labelled) FILTER (WHERE bucket = 'accepted'), 0)::BIGINT AS passed
    FROM ended_requests AS e
    JOIN workload_rules AS w ON w.workload = e.workload AND w.has_quality
    CROSS JOIN grains
    WHERE cut = 0
    GROUP BY ALL
    HAVING sum(need) > 0
),
summed AS (
    SELECT
        *,
        sum(need) OVER of_workload AS all_need,
        sum(labelled) OVER of_workload AS all_labelled,
        rates_unlike(sum_steady(labelled ** 2 / need) OVER of_workload, all_labelled, all_need) AS unlike,
        count(*) OVER of_workload - 1 AS df
    FROM counted
    WINDOW of_workload AS (PARTITION BY window_s, start_s, workload)
),
rated AS (
    SELECT
        s.* EXCLUDE (all_need, all_labelled, unlike, df),
        rates_differ(
            unlike, df, requests_per_draw(w.sampling, all_need, all_labelled, c.pairs, c.labelled_pairs, c.half_labelled_pairs)) AS differs
    FROM summed AS s
    JOIN (SELECT workload, sampling FROM workload_rules) AS w USING (workload)
    LEFT JOIN ended_sessions AS c USING (window_s, start_s, workload)
),
unlabelled AS (
    SELECT
        window_s, step_s // window_s * window_s AS start_s, window_part(step_s, window_s) AS part_s,
        workload, model, pool, route, sum(usd) AS unlabelled_usd
    FROM step_costs
    CROSS JOIN grains
    WHERE cut = 0 AND bucket = 'unlabelled'
    GROUP BY ALL
),
cells AS (
    SELECT *, differs AND labelled >= 2 AS is_apart
    FROM rated
    FULL JOIN weighed_costs USING (window_s, start_s, workload, model, pool, route, part_s)
    FULL JOIN unlabelled USING (window_s, start_s, workload, model, pool, route, part_s)
)
SELECT
    window_s, start_s, workload,
    CASE WHEN is_apart THEN model END AS model,
    CASE WHEN is_apart THEN pool END AS pool,
    CASE WHEN is_apart THEN route END AS route,
    CASE WHEN is_apart THEN part_s END AS part_s,
    coalesce(sum(need), 0)::BIGINT AS need, coalesce(sum(labelled), 0)::BIGINT AS labelled, coalesce(sum(passed), 0)::BIGINT AS passed,
    coalesce(bool_or(differs), false) AS differs,
    coalesce(sum(COLUMNS('_(requests|usd|squares)$')), 0)::DOUBLE
FROM cells
GROUP BY ALL
