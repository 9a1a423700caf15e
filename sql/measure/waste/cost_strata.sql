-- description: The strata in which labels count as drawn at random, of each workload in each row of `waste`, and what its requests cost in them (docs/semantics.md#unlabelled-cost)
-- grain: slice, slice_value, window_s, start_s, k_workload, k_model, k_pool, k_route, workload, model, pool, route, part_s
-- reads: crowded_windows, ended_requests, ended_sessions, grains, kept_names, kept_values, slices, weighed_costs, workload_rules
-- What was spent where no request ended that needs a label is in the rest, as those of which fewer than two have one.
WITH counted AS (
    SELECT
        window_s, step_s // window_s * window_s AS start_s, cut, slice_value, e.workload, e.model, e.pool, e.route,
        window_part(step_s, window_s) AS part_s,
        sum(need)::BIGINT AS need, sum(labelled)::BIGINT AS labelled,
        coalesce(sum(labelled) FILTER (WHERE bucket = 'accepted'), 0)::BIGINT AS passed
    FROM ended_requests AS e
    JOIN workload_rules AS w ON w.workload = e.workload AND w.has_quality
    CROSS JOIN grains
    WHERE need > 0
    GROUP BY ALL
),
-- values that a crowded window does not keep apart have their cells in common
cells AS (
    SELECT
        c.window_s, c.start_s, c.cut, kept_value(c.slice_value, f.cut IS NOT NULL, k.cut IS NOT NULL) AS slice_value,
        c.workload, c.model, c.pool, c.route, c.part_s,
        coalesce(sum(need), 0)::BIGINT AS need, coalesce(sum(labelled), 0)::BIGINT AS labelled, coalesce(sum(passed), 0)::BIGINT AS passed,
        sum(COLUMNS('_(requests|usd|squares)$'))
    FROM (FROM counted UNION ALL BY NAME FROM weighed_costs) AS c
    LEFT JOIN crowded_windows AS f ON f.cut = c.cut AND f.window_s = c.window_s AND f.start_s = c.start_s
    LEFT JOIN kept_values AS k
        ON k.cut = c.cut AND k.window_s = c.window_s AND k.start_s = c.start_s AND k.slice_value = c.slice_value
    GROUP BY ALL
),
sliced AS (
    SELECT
        s.slice,
        CASE WHEN s.by_workload THEN c.workload END AS k_workload,
        CASE WHEN s.by_model THEN kept_name(c.model, n.models) END AS k_model,
        CASE WHEN s.by_pool THEN kept_name(c.pool, n.pools) END AS k_pool,
        CASE WHEN s.by_route THEN kept_name(c.route, n.routes) END AS k_route,
        c.* EXCLUDE (cut)
    FROM cells AS c
    JOIN slices AS s USING (cut)
    LEFT JOIN kept_names AS n ON n.window_s = c.window_s AND n.start_s = c.start_s
),
added AS (
    SELECT
        slice, slice_value, window_s, start_s, k_workload, k_model, k_pool, k_route, workload, model, pool, route,
        sum_steady(CASE WHEN need > 0 THEN labelled ** 2 / need END) AS cell_squares, count_if(need > 0) AS cells,
        sum(need) AS need, sum(labelled) AS labelled
    FROM sliced
    GROUP BY ALL
),
rated AS (
    SELECT
        slice, slice_value, window_s, start_s, k_workload, k_model, k_pool, k_route, workload,
        sum(need) AS need, sum(labelled) AS labelled,
        labels_tell_times_apart(sum(labelled), sum(cells)) AS by_time,
        rates_unlike(
            CASE WHEN by_time THEN sum_steady(cell_squares) ELSE sum_steady(CASE WHEN need > 0 THEN labelled ** 2 / need END) END,
            sum(labelled), sum(need)) AS unlike,
        CASE WHEN by_time THEN sum(cells) ELSE count_if(need > 0) END - 1 AS df
    FROM added
    GROUP BY ALL
),
tested AS MATERIALIZED (
    SELECT
        r.* EXCLUDE (need, labelled, unlike, df),
        rates_differ(
            unlike, df, requests_per_draw(w.sampling, need, labelled, c.pairs, c.labelled_pairs, c.half_labelled_pairs)) AS differs
    FROM rated AS r
    JOIN (SELECT workload, sampling FROM workload_rules) AS w USING (workload)
    LEFT JOIN ended_sessions AS c
        ON c.slice = r.slice AND c.slice_value IS NOT DISTINCT FROM r.slice_value
        AND c.window_s = r.window_s AND c.start_s = r.start_s AND c.workload = r.workload
        AND c.k_workload IS NOT DISTINCT FROM r.k_workload AND c.k_model IS NOT DISTINCT FROM r.k_model
        AND c.k_pool IS NOT DISTINCT FROM r.k_pool AND c.k_route IS NOT DISTINCT FROM r.k_route
),
timed AS (
    SELECT c.* REPLACE (CASE WHEN t.by_time THEN c.part_s END AS part_s), t.differs
    FROM sliced AS c
    JOIN tested AS t
        ON t.slice = c.slice AND t.slice_value IS NOT DISTINCT FROM c.slice_value
        AND t.window_s = c.window_s AND t.start_s = c.start_s AND t.workload = c.workload
        AND t.k_workload IS NOT DISTINCT FROM c.k_workload AND t.k_model IS NOT DISTINCT FROM c.k_model
        AND t.k_pool IS NOT DISTINCT FROM c.k_pool AND t.k_route IS NOT DISTINCT FROM c.k_route
),
placed AS (
    SELECT
        slice, slice_value, window_s, start_s, k_workload, k_model, k_pool, k_route, workload, model, pool, route, part_s,
        bool_or(differs) AS differs, bool_or(differs) AND sum(labelled) >= 2 AS is_apart,
        sum(need) AS need, sum(labelled) AS labelled, sum(passed) AS passed,
        sum(COLUMNS('_(requests|usd|squares)$'))
    FROM timed
    GROUP BY ALL
)
SELECT
    slice, slice_value, window_s, start_s, k_workload, k_model, k_pool, k_route, workload,
    CASE WHEN is_apart THEN model END AS model,
    CASE WHEN is_apart THEN pool END AS pool,
    CASE WHEN is_apart THEN route END AS route,
    CASE WHEN is_apart THEN part_s END AS part_s,
    sum(need)::BIGINT AS need, sum(labelled)::BIGINT AS labelled, sum(passed)::BIGINT AS passed,
    any_value(differs) AS differs,
    coalesce(sum(COLUMNS('_(requests|usd|squares)$')), 0)::DOUBLE
FROM placed
GROUP BY ALL
