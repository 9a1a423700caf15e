-- description: How evenly labels lie over what needs them, by window and workload, in cells of three kinds: chi-square of label rates, and the cell that adds the most to it (docs/semantics.md#warnings)
-- grain: window_start, window_s, workload, cut_by
-- reads: grains, requests, workload_rules
-- unit: cut_by: place (model, pool, route, part of the window), tenant, length (of the answer, within a power of two)
-- unit: draws: requests / those that one draw labels; chi_square, df and chi_square_variance add up over windows
WITH asked AS (
    SELECT
        epoch_us(r.ended_at) // 1000000 AS ended_s, r.workload, w.sampling, r.session_id, r.pass_quality,
        unnest([
            {
                cut_by: 'place', model: coalesce(r.model, 'unknown'), pool: coalesce(r.pool, 'unknown'),
                route: coalesce(r.route, 'unknown'), tenant: NULL, from_tokens: NULL
            },
            {cut_by: 'tenant', model: NULL, pool: NULL, route: NULL, tenant: r.tenant, from_tokens: NULL},
            {
                cut_by: 'length', model: NULL, pool: NULL, route: NULL, tenant: NULL,
                from_tokens: 2 ** floor(log2(nullif(r.output_tokens, 0)))::BIGINT
            }
        ], recursive := true)
    FROM requests AS r
    JOIN workload_rules AS w ON w.workload = r.workload AND w.has_quality AND w.unlabelled = 'estimate' AND w.sampling <> 'none'
    WHERE r.needs_label AND r.verdict <> 'in_flight'
),
sessions AS (
    SELECT
        window_s, ended_s // window_s * window_s AS start_s,
        CASE WHEN cut_by = 'place' THEN window_part(ended_s, window_s) ELSE start_s END AS part_s,
        workload, sampling, cut_by, model, pool, route, tenant, from_tokens,
        (session_id IS NOT NULL)::INTEGER AS is_session, session_id,
        count(*) AS need, count(pass_quality) AS labelled, count(*) FILTER (WHERE pass_quality) AS passed
    FROM asked
    CROSS JOIN grains
    WHERE coalesce(model, tenant) IS NOT NULL OR from_tokens IS NOT NULL
    GROUP BY ALL
),
cells AS (
    SELECT
        window_s, start_s, workload, sampling, cut_by, part_s, model, pool, route, tenant, from_tokens,
        sum(need) AS need, sum(labelled) AS labelled,
        -- a request without a session makes no pair
        pairs_in_sessions(need * is_session, labelled * is_session, passed * is_session) AS paired
    FROM sessions
    GROUP BY ALL
),
summed AS (
    SELECT
        *,
        labelled_together(
            sampling, sum(labelled) OVER of_row / sum(need) OVER of_row,
            sum(paired.labelled_pairs) OVER of_row, sum(paired.half_labelled_pairs) OVER of_row) AS together
    FROM cells
    WINDOW of_row AS (PARTITION BY window_s, start_s, workload, cut_by)
),
drawn AS (
    SELECT
        *,
        need / (1 + coalesce(together * paired.pairs / need, 0)) AS draws,
        draws * labelled / need AS label_draws
    FROM summed
),
rated AS (
    SELECT *, sum_steady(label_draws) OVER of_row / sum_steady(draws) OVER of_row AS rate
    FROM drawn
    WINDOW of_row AS (PARTITION BY window_s, start_s, workload, cut_by)
),
tested AS (
    SELECT
        window_s, start_s, workload, cut_by,
        sum(need)::BIGINT AS need_label, sum(labelled)::BIGINT AS labelled,
        sum_steady(draws) AS draws, sum_steady(label_draws) AS label_draws,
        -- all alike where all or none have a label
        CASE WHEN any_value(rate) > 0 AND any_value(rate) < 1 THEN count(*) - 1 ELSE 0 END AS df,
        coalesce(rates_unlike(sum_steady(label_draws ** 2 / draws), sum_steady(label_draws), sum_steady(draws)), 0) AS unlike,
        sum_steady(rates_unlike_variance(rate, draws)) / count(*) AS variance,
        arg_max(
            {model: model, pool: pool, route: route, tenant: tenant, from_tokens: from_tokens, part_s: part_s, need: need, labelled: labelled},
            -- of two that add as much the last by name
            {adds: [(label_draws - draws * rate) ** 2 / draws, need, -part_s, from_tokens], named: [model, pool, route, tenant]}) AS cell
    FROM rated
    GROUP BY window_s, start_s, workload, cut_by
)
SELECT
    make_timestamptz(start_s * 1000000) AS window_start, window_s, workload, cut_by,
    need_label, labelled, draws, label_draws, df,
    CASE WHEN df > 0 THEN greatest(0, unlike) ELSE 0 END AS chi_square,
    variance * df AS chi_square_variance,
    cell.model AS cell_model, cell.pool AS cell_pool, cell.route AS cell_route,
    cell.tenant AS cell_tenant, cell.from_tokens AS cell_from_tokens,
    make_timestamptz(cell.part_s * 1000000) AS cell_start,
    cell.need::BIGINT AS cell_need_label, cell.labelled::BIGINT AS cell_labelled
FROM tested
