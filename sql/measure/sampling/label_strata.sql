-- description: The strata in which labels count as drawn at random: workloads, and their cells where label rates differ (docs/semantics.md#strata)
-- grain: slice, slice_value, window_s, start_s, k_workload, k_model, k_pool, k_route, workload, model, pool, route, part_s
-- reads: crowded_windows, kept_codes, kept_values, label_cells, label_clusters, slices, workload_rules
WITH kept AS (
    -- values that a crowded window does not keep apart have their cells in common
    SELECT
        c.cut, kept_value(c.slice_value, f.cut IS NOT NULL, k.cut IS NOT NULL) AS slice_value,
        c.window_s, c.start_s, c.workload, c.model, c.pool, c.route, c.part_s,
        sum(c.need) AS need, sum(c.labelled) AS labelled, sum(c.passed) AS passed, -- a plan's are expected: no whole numbers
        sum(partly_judged) AS partly_judged, sum(known_failed) AS known_failed,
        sum(COLUMNS('_(tokens|squares)$'))
    FROM label_cells AS c
    LEFT JOIN crowded_windows AS f ON f.cut = c.cut AND f.window_s = c.window_s AND f.start_s = c.start_s
    LEFT JOIN kept_values AS k
        ON k.cut = c.cut AND k.window_s = c.window_s AND k.start_s = c.start_s AND k.slice_value = c.slice_value
    GROUP BY ALL
),
cells AS (
    SELECT
        s.slice,
        CASE WHEN s.by_workload THEN c.workload END AS k_workload,
        CASE WHEN s.by_model THEN kept_name(c.model, n.models, other := n.other_model) END AS k_model,
        CASE WHEN s.by_pool THEN kept_name(c.pool, n.pools, other := n.other_pool) END AS k_pool,
        CASE WHEN s.by_route THEN kept_name(c.route, n.routes, other := n.other_route) END AS k_route,
        c.* EXCLUDE (cut)
    FROM kept AS c
    JOIN slices AS s USING (cut)
    LEFT JOIN kept_codes AS n ON n.window_s = c.window_s AND n.start_s = c.start_s
),
-- what chi-square is made of, of cells and of the places that they are parts of
added AS (
    SELECT
        slice, slice_value, window_s, start_s, k_workload, k_model, k_pool, k_route, workload, model, pool, route,
        sum_steady(labelled ** 2 / need) AS cell_squares, count(*) AS cells,
        sum(need) AS need, sum(labelled) AS labelled, sum(passed) AS passed,
        sum(partly_judged) AS partly_judged, sum(known_failed) AS known_failed,
        sum(COLUMNS('_(tokens|squares)$'))
    FROM cells
    GROUP BY ALL
),
summed AS (
    SELECT
        slice, slice_value, window_s, start_s, k_workload, k_model, k_pool, k_route, workload,
        labels_tell_times_apart(sum(labelled), sum(cells)) AS by_time,
        rates_unlike(CASE WHEN by_time THEN sum_steady(cell_squares) ELSE sum_steady(labelled ** 2 / need) END, sum(labelled), sum(need))
            AS unlike,
        CASE WHEN by_time THEN sum(cells) ELSE count(*) END - 1 AS df,
        sum(need) AS need, sum(labelled) AS labelled, sum(passed) AS passed,
        sum(partly_judged) AS partly_judged, sum(known_failed) AS known_failed,
        sum(COLUMNS('_(tokens|squares)$'))
    FROM added
    GROUP BY ALL
),
tested AS MATERIALIZED (
    SELECT
        s.* EXCLUDE (unlike, df),
        rates_differ(
            unlike, df, requests_per_draw(w.sampling, need, labelled, c.pairs, c.labelled_pairs, c.half_labelled_pairs)) AS differs
    FROM summed AS s
    LEFT JOIN (SELECT workload, sampling FROM workload_rules) AS w USING (workload)
    LEFT JOIN label_clusters AS c
        ON c.slice = s.slice AND c.slice_value IS NOT DISTINCT FROM s.slice_value
        AND c.window_s = s.window_s AND c.start_s = s.start_s AND c.workload = s.workload
        AND c.k_workload IS NOT DISTINCT FROM s.k_workload AND c.k_model IS NOT DISTINCT FROM s.k_model
        AND c.k_pool IS NOT DISTINCT FROM s.k_pool AND c.k_route IS NOT DISTINCT FROM s.k_route
),
-- only where label rates differ are cells looked at again
apart AS (
    SELECT
        c.* REPLACE (CASE WHEN s.by_time THEN c.part_s END AS part_s),
        sum(c.labelled) OVER (
            PARTITION BY c.slice, c.slice_value, c.window_s, c.start_s, c.k_workload, c.k_model, c.k_pool, c.k_route, c.workload,
                c.model, c.pool, c.route, CASE WHEN s.by_time THEN c.part_s END
        ) >= 2 AS is_apart
    FROM cells AS c
    JOIN tested AS s
        ON s.differs AND s.slice = c.slice AND s.slice_value IS NOT DISTINCT FROM c.slice_value
        AND s.window_s = c.window_s AND s.start_s = c.start_s AND s.workload = c.workload
        AND s.k_workload IS NOT DISTINCT FROM c.k_workload AND s.k_model IS NOT DISTINCT FROM c.k_model
        AND s.k_pool IS NOT DISTINCT FROM c.k_pool AND s.k_route IS NOT DISTINCT FROM c.k_route
),
placed AS (
    SELECT
        slice, slice_value, window_s, start_s, k_workload, k_model, k_pool, k_route, workload,
        NULL AS model, NULL AS pool, NULL AS route, NULL AS part_s,
        * EXCLUDE (slice, slice_value, window_s, start_s, k_workload, k_model, k_pool, k_route, workload, by_time)
    FROM tested
    WHERE NOT differs
    UNION ALL BY NAME
    SELECT
        * EXCLUDE (is_apart) REPLACE (
            CASE WHEN is_apart THEN model END AS model,
            CASE WHEN is_apart THEN pool END AS pool,
            CASE WHEN is_apart THEN route END AS route,
            CASE WHEN is_apart THEN part_s END AS part_s
        ),
        true AS differs
    FROM apart
)
SELECT
    slice, slice_value, window_s, start_s, k_workload, k_model, k_pool, k_route, workload, model, pool, route, part_s,
    any_value(differs) AS differs,
    sum(need)::BIGINT AS need, sum(labelled)::BIGINT AS labelled, sum(passed)::DOUBLE AS passed,
    sum(partly_judged)::BIGINT AS partly_judged, sum(known_failed)::BIGINT AS known_failed,
    sum(COLUMNS('_(tokens|squares)$'))
FROM placed
GROUP BY ALL
