-- description: How evenly labels lie over what needs them, by window and workload: chi-square of label rates, and the cell that adds the most to it (docs/semantics.md#warnings)
-- grain: window_start, window_s, workload
-- reads: grains, requests, workload_rules
-- unit: draws: requests / those that one draw labels; chi_square, df and chi_square_variance add up over windows
WITH sessions AS (
    SELECT
        window_s, ended_s // window_s * window_s AS start_s, window_part(ended_s, window_s) AS part_s,
        workload, sampling, model, pool, route, (session_id IS NOT NULL)::INTEGER AS is_session, session_id,
        count(*) AS need, count(pass_quality) AS labelled, count(*) FILTER (WHERE pass_quality) AS passed
    FROM (
        SELECT
            epoch_us(r.ended_at) // 1000000 AS ended_s, r.workload, w.sampling,
            coalesce(r.model, 'unknown') AS model, coalesce(r.pool, 'unknown') AS pool, coalesce(r.route, 'unknown') AS route,
            r.session_id, r.pass_quality
        FROM requests AS r
        JOIN workload_rules AS w ON w.workload = r.workload AND w.has_quality AND w.unlabelled = 'estimate' AND w.sampling <> 'none'
        WHERE r.needs_label AND r.verdict <> 'in_flight'
    )
    CROSS JOIN grains
    GROUP BY ALL
),
cells AS (
    SELECT
        window_s, start_s, part_s, workload, sampling, model, pool, route,
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
    WINDOW of_row AS (PARTITION BY window_s, start_s, workload)
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
    WINDOW of_row AS (PARTITION BY window_s, start_s, workload)
),
tested AS (
    SELECT
        window_s, start_s, workload,
        sum(need)::BIGINT AS need_label, sum(labelled)::BIGINT AS labelled,
        sum_steady(draws) AS draws, sum_steady(label_draws) AS label_draws,
        -- all alike where all or none have a label
        CASE WHEN any_value(rate) > 0 AND any_value(rate) < 1 THEN count(*) - 1 ELSE 0 END AS df,
        coalesce(rates_unlike(sum_steady(label_draws ** 2 / draws), sum_steady(label_draws), sum_steady(draws)), 0) AS unlike,
        sum_steady(rates_unlike_variance(rate, draws)) / count(*) AS variance,
        arg_max(
            {model: model, pool: pool, route: route, part_s: part_s, need: need, labelled: labelled},
            [(label_draws - draws * rate) ** 2 / draws, need, -part_s]) AS cell
    FROM rated
    GROUP BY window_s, start_s, workload
)
SELECT
    make_timestamptz(start_s * 1000000) AS window_start, window_s, workload,
    need_label, labelled, draws, label_draws, df,
    CASE WHEN df > 0 THEN greatest(0, unlike) ELSE 0 END AS chi_square,
    variance * df AS chi_square_variance,
    cell.model AS cell_model, cell.pool AS cell_pool, cell.route AS cell_route,
    make_timestamptz(cell.part_s * 1000000) AS cell_start,
    cell.need::BIGINT AS cell_need_label, cell.labelled::BIGINT AS cell_labelled
FROM tested
