-- description: The counts of each window at the finest dimensions, and by workload and value of each slice by tenant or attribute: those of every slice are sums of these
-- grain: window_s, start_s, cut, slice_value, workload, model, pool, route
-- reads: crowded_windows, cut_requests, grains, kept_codes, kept_values, measured_range, window_costs, window_options
WITH ended AS (
    SELECT
        ended_s // step_s * step_s AS step_start_s, cut, slice_value, workload, model, pool, route,
        count(*) AS seen,
        count(verdict) AS offered,
        count(*) FILTER (WHERE pass_success) AS succeeded,
        count(*) FILTER (WHERE verdict = 'failed') AS failed,
        count(*) FILTER (WHERE verdict = 'ungated') AS ungated,
        count(*) FILTER (WHERE verdict = 'over_budget') AS over_budget,
        count(*) FILTER (WHERE verdict = 'slow') AS slow,
        count(*) FILTER (WHERE late_by = 'queue') AS queue_late,
        count(*) FILTER (WHERE late_by = 'retries') AS retries_late,
        count(*) FILTER (WHERE late_by = 'prefill') AS prefill_late,
        count(*) FILTER (WHERE late_by = 'work') AS work_late,
        count(*) FILTER (WHERE verdict = 'rejected') AS rejected,
        count(*) FILTER (WHERE verdict = 'unevaluable') AS unevaluable,
        count(*) FILTER (WHERE verdict = 'unlabelled') AS unlabelled,
        count(*) FILTER (WHERE verdict = 'accepted') AS accepted,
        count(ttft_s) AS n_ttft,
        count(tpot_s) AS n_tpot,
        count(e2e_s) AS n_e2e,
        count(queue_s) AS n_queue,
        count(coverage_ppm) AS n_coverage, sum(coverage_ppm) AS coverage_ppm,
        count(unobserved_ppm) AS n_unobserved, sum(unobserved_ppm) AS unobserved_ppm,
        count(*) FILTER (WHERE retried) AS retried,
        count(*) FILTER (WHERE tpot_na) AS tpot_na,
        count(*) FILTER (WHERE needs_label) AS need,
        count(pass_quality) FILTER (WHERE needs_label) AS labelled,
        -- as a judge sees it: of all answers, in time or not
        count(pass_quality) FILTER (WHERE pass_success) AS judged,
        count(*) FILTER (WHERE pass_success AND pass_quality) AS judged_passed,
        sum(output_tokens) FILTER (WHERE pass_success) AS succeeded_tokens,
        sum(output_tokens) FILTER (WHERE verdict = 'accepted') AS passed_tokens,
        sum(output_tokens) FILTER (WHERE needs_label) AS need_tokens,
        sum(output_tokens) FILTER (WHERE needs_label AND pass_quality IS NOT NULL) AS labelled_tokens
    FROM cut_requests
    CROSS JOIN measured_range
    CROSS JOIN window_options
    WHERE ended_s >= from_s AND ended_s < until_s
    GROUP BY ALL
),
arrived AS (
    SELECT
        arrived_s // step_s * step_s AS step_start_s, cut, slice_value, workload, model, pool, route,
        count(*) AS seen,
        count(verdict) AS arrivals
    FROM cut_requests
    CROSS JOIN measured_range
    CROSS JOIN window_options
    WHERE arrived_s >= from_s AND arrived_s < until_s
    GROUP BY ALL
),
-- a window in which work was only in flight had live replicas: it exists, with nothing offered
under_way AS (
    SELECT
        window_s, unnest(range(first_s + window_s, last_s, window_s)) AS start_s,
        cut, slice_value, workload, model, pool, route
    FROM (
        SELECT DISTINCT
            g.window_s, cut, slice_value, workload, model, pool, route,
            arrived_s // g.window_s * g.window_s AS first_s, ended_s // g.window_s * g.window_s AS last_s
        FROM cut_requests
        CROSS JOIN grains AS g
        WHERE ended_s - arrived_s > g.window_s
    )
),
stepped AS (
    SELECT * FROM ended UNION ALL BY NAME SELECT * FROM arrived
),
windowed AS (
    SELECT window_s, step_start_s // window_s * window_s AS start_s, * EXCLUDE (window_s, step_start_s)
    FROM stepped
    CROSS JOIN grains
    UNION ALL BY NAME
    SELECT u.*, 1 AS seen FROM under_way AS u CROSS JOIN measured_range AS p WHERE u.start_s >= p.from_s AND u.start_s < p.until_s
    UNION ALL BY NAME
    -- costs of a window in which nothing ended belong to it all the same, those that nobody carries among them
    SELECT window_s, start_s, cut, slice_value, workload, model, pool, route, is_live::BIGINT AS live
    FROM window_costs
    WHERE is_live OR has_money
),
kept AS (
    SELECT w.* REPLACE (
        kept_value(w.slice_value, c.cut IS NOT NULL, k.cut IS NOT NULL) AS slice_value,
        kept_name(w.model, n.models, other := n.other_model) AS model,
        kept_name(w.pool, n.pools, other := n.other_pool) AS pool,
        kept_name(w.route, n.routes, other := n.other_route) AS route
    )
    FROM windowed AS w
    LEFT JOIN kept_codes AS n ON n.window_s = w.window_s AND n.start_s = w.start_s
    LEFT JOIN crowded_windows AS c ON c.cut = w.cut AND c.window_s = w.window_s AND c.start_s = w.start_s
    LEFT JOIN kept_values AS k
        ON k.cut = w.cut AND k.window_s = w.window_s AND k.start_s = w.start_s AND k.slice_value = w.slice_value
)
SELECT
    window_s, start_s, cut, slice_value, workload, model, pool, route,
    coalesce(sum(COLUMNS(* EXCLUDE (window_s, start_s, cut, slice_value, workload, model, pool, route))), 0)::BIGINT
FROM kept
GROUP BY ALL
