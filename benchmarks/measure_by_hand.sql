-- description: What the measure stage computes, as one query written by hand for the requests of one day: the baseline
-- grain: window_start, window_s, slice, workload, model, pool, route
WITH request AS MATERIALIZED (
    SELECT
        workload, coalesce(model, 'unknown') AS model, coalesce(pool, 'unknown') AS pool,
        coalesce(route, 'unknown') AS route,
        verdict, sole_failing_gate, output_tokens, retry_count, needs_label, tpot_na,
        pass_success, pass_ttft, pass_tpot, pass_e2e, pass_quality,
        epoch_us(arrived_at) // 1000000 AS arrived_s,
        epoch_us(ended_at) // 1000000 AS ended_s,
        CASE WHEN pass_success THEN ttft_s END AS ttft_s,
        CASE WHEN pass_success THEN tpot_s END AS tpot_s,
        CASE WHEN pass_success THEN e2e_s END AS e2e_s,
        CASE WHEN pass_success THEN queue_s END AS queue_s
    FROM read_parquet($files)
),
grains AS (
    SELECT unnest([300, 3600, 86400]) AS window_s
),
completed AS (
    SELECT r.*, g.window_s, r.ended_s // g.window_s * g.window_s AS start_s
    FROM request AS r
    CROSS JOIN grains AS g
    WHERE r.ended_s >= $from_s AND r.ended_s < $until_s
),
finest AS MATERIALIZED (
    SELECT
        window_s, start_s, workload, model, pool, route,
        count(*) AS offered, 0 AS arrivals,
        count_if(pass_success) AS succeeded,
        count_if(verdict = 'failed') AS failed,
        count_if(verdict = 'over_budget') AS over_budget,
        count_if(verdict = 'slow') AS slow,
        count_if(verdict = 'rejected') AS rejected,
        count_if(verdict = 'unevaluable') AS unevaluable,
        count_if(verdict = 'unlabelled') AS unlabelled,
        count_if(verdict = 'accepted') AS accepted,
        sum(output_tokens) FILTER (WHERE pass_success) AS succeeded_tokens,
        count(ttft_s) AS n_ttft, count(tpot_s) AS n_tpot, count(e2e_s) AS n_e2e, count(queue_s) AS n_queue,
        count_if(NOT pass_ttft) AS failed_ttft, count(pass_ttft) AS gated_ttft,
        count_if(NOT pass_tpot) AS failed_tpot, count(pass_tpot) AS gated_tpot,
        count_if(NOT pass_e2e) AS failed_e2e, count(pass_e2e) AS gated_e2e,
        count_if(retry_count > 0) AS retried,
        count_if(tpot_na) AS tpot_na,
        count_if(sole_failing_gate = 'success') AS sole_success,
        count_if(sole_failing_gate = 'retries') AS sole_retries,
        count_if(sole_failing_gate = 'ttft') AS sole_ttft,
        count_if(sole_failing_gate = 'tpot') AS sole_tpot,
        count_if(sole_failing_gate = 'e2e') AS sole_e2e,
        count_if(sole_failing_gate = 'itl_p95') AS sole_itl_p95,
        count_if(sole_failing_gate = 'jitter') AS sole_jitter,
        count_if(sole_failing_gate = 'deadline') AS sole_deadline,
        count_if(sole_failing_gate = 'quality') AS sole_quality,
        count_if(needs_label) AS need,
        count_if(needs_label AND pass_quality IS NOT NULL) AS labelled,
        sum(output_tokens) FILTER (WHERE verdict = 'accepted') AS passed_tokens,
        sum(output_tokens) FILTER (WHERE needs_label) AS need_tokens,
        sum(output_tokens) FILTER (WHERE needs_label AND pass_quality IS NOT NULL) AS labelled_tokens
    FROM completed
    GROUP BY ALL
    UNION ALL BY NAME
    SELECT window_s, arrived_s // window_s * window_s AS start_s, workload, model, pool, route, count(*) AS arrivals
    FROM request
    CROSS JOIN grains
    WHERE arrived_s >= $from_s AND arrived_s < $until_s
    GROUP BY ALL
    UNION ALL BY NAME
    SELECT * FROM (
        SELECT DISTINCT
            window_s, unnest(range(arrived_s // window_s * window_s + window_s, ended_s // window_s * window_s, window_s)) AS start_s,
            workload, model, pool, route
        FROM request
        CROSS JOIN grains
        WHERE ended_s - arrived_s > window_s
    )
    WHERE start_s >= $from_s AND start_s < $until_s
),
-- `cut` tells the slices apart; labels are sampled workload by workload, so a stratum is never more than one workload
strata AS (
    SELECT
        window_s, start_s, workload, model, pool, route, grouping(workload, model, pool, route) AS cut,
        workload IN ('chat', 'rag') AS has_quality,
        sum(COLUMNS(* EXCLUDE (window_s, start_s, workload, model, pool, route)))::BIGINT
    FROM finest
    GROUP BY GROUPING SETS (
        (window_s, start_s, workload), (window_s, start_s, workload, model), (window_s, start_s, workload, pool),
        (window_s, start_s, workload, route), (window_s, start_s, workload, model, pool, route)
    )
),
bounded AS (
    SELECT
        *,
        has_quality AND labelled > 0 AS sampled,
        accepted AS lower,
        CASE WHEN has_quality THEN accepted + need - labelled ELSE accepted END AS upper,
        accepted / nullif(labelled, 0) AS p,
        CASE WHEN need > labelled THEN labelled * (need - 1.0) / (need - labelled) ELSE 'infinity'::DOUBLE END AS n
    FROM strata
),
wilson AS (
    SELECT
        *,
        (p + 1.959963984540054 ** 2 / (2 * n)) / (1 + 1.959963984540054 ** 2 / n) AS mid,
        1.959963984540054 / (1 + 1.959963984540054 ** 2 / n)
            * sqrt(p * (1 - p) / n + 1.959963984540054 ** 2 / (4 * n * n)) AS half
    FROM bounded
),
estimated AS (
    SELECT
        *,
        CASE WHEN sampled THEN need * p ELSE upper END AS estimate,
        CASE
            WHEN NOT has_quality THEN passed_tokens
            WHEN sampled THEN coalesce(need_tokens * passed_tokens / nullif(labelled_tokens, 0), 0)
            ELSE coalesce(need_tokens, 0) - coalesce(labelled_tokens, 0) + coalesce(passed_tokens, 0)
        END AS estimate_tokens,
        CASE WHEN sampled THEN greatest(lower, need * (mid - half)) ELSE lower END AS low,
        CASE WHEN sampled THEN least(upper, need * (mid + half)) ELSE upper END AS high,
        CASE
            WHEN coalesce(offered, 0) = 0 THEN 0
            WHEN NOT has_quality OR (need > 0 AND labelled = 0) THEN 2
            WHEN labelled < need THEN 1
            ELSE 0
        END AS doubt
    FROM wilson
),
summed AS (
    SELECT
        window_s, start_s, workload, model, pool, route, cut,
        sum(COLUMNS('offered|arrivals|succeeded.*|failed.*|over_budget|slow|rejected|unevaluable|unlabelled|accepted|n_.*|gated_.*|retried|tpot_na|sole_.*|lower|upper|estimate.*')),
        sqrt(sum((estimate - low) ** 2)) AS below,
        sqrt(sum((high - estimate) ** 2)) AS above,
        sum(labelled) FILTER (WHERE has_quality) / nullif(sum(need), 0) AS quality_coverage_ratio,
        CASE WHEN coalesce(sum(offered), 0) = 0 AND NOT bool_or(has_quality) THEN 2 ELSE max(doubt) END AS doubt
    FROM (
        SELECT * FROM estimated
        UNION ALL BY NAME
        SELECT * EXCLUDE (workload, model, pool, route, cut), 15 AS cut FROM estimated WHERE cut = 7
        UNION ALL BY NAME
        SELECT * EXCLUDE (workload, model, route, cut), 13 AS cut FROM estimated WHERE cut = 5
    )
    GROUP BY ALL
),
timed AS (
    SELECT
        window_s, start_s, workload, model, pool, route, grouping(workload, model, pool, route) AS cut,
        quantile_cont(ttft_s, [0.5, 0.95, 0.99]) AS q_ttft,
        quantile_cont(tpot_s, [0.5, 0.95, 0.99]) AS q_tpot,
        quantile_cont(e2e_s, [0.5, 0.95, 0.99]) AS q_e2e,
        quantile_cont(queue_s, [0.5, 0.95, 0.99]) AS q_queue
    FROM completed
    GROUP BY GROUPING SETS (
        (window_s, start_s), (window_s, start_s, pool), (window_s, start_s, workload), (window_s, start_s, workload, model),
        (window_s, start_s, workload, pool), (window_s, start_s, workload, route),
        (window_s, start_s, workload, model, pool, route)
    )
)
SELECT
    make_timestamptz(s.start_s * 1000000) AS window_start,
    s.window_s,
    CASE s.cut WHEN 15 THEN 'overall' WHEN 13 THEN 'pool' WHEN 7 THEN 'workload' WHEN 3 THEN 'workload_model' WHEN 5 THEN 'workload_pool'
        WHEN 6 THEN 'workload_route' ELSE 'finest' END AS slice,
    s.workload, s.model, s.pool, s.route,
    coalesce(offered, 0) AS offered, coalesce(arrivals, 0) AS arrivals, coalesce(succeeded, 0) AS succeeded,
    coalesce(failed, 0) AS failed, coalesce(over_budget, 0) AS over_budget, coalesce(slow, 0) AS slow,
    coalesce(rejected, 0) AS rejected, coalesce(unevaluable, 0) AS unevaluable,
    coalesce(unlabelled, 0) AS unlabelled, coalesce(accepted, 0) AS accepted,
    coalesce(succeeded, 0) / s.window_s AS throughput_rps,
    coalesce(estimate, 0) / s.window_s AS goodput_rps,
    greatest(coalesce(lower, 0), coalesce(estimate - below, 0)) / s.window_s AS goodput_ci_low_rps,
    least(coalesce(upper, 0), coalesce(estimate + above, 0)) / s.window_s AS goodput_ci_high_rps,
    coalesce(lower, 0) / s.window_s AS goodput_lower_rps,
    coalesce(upper, 0) / s.window_s AS goodput_upper_rps,
    estimate / nullif(offered, 0) AS goodput_ratio,
    ['full', 'estimated', 'latency_constrained'][doubt + 1] AS definition,
    quality_coverage_ratio,
    coalesce(succeeded_tokens, 0) / s.window_s AS output_tps,
    coalesce(estimate_tokens, 0) / s.window_s AS output_token_goodput_tps,
    q_ttft[1] AS p50_ttft_s, q_ttft[2] AS p95_ttft_s, q_ttft[3] AS p99_ttft_s, coalesce(n_ttft, 0) AS n_ttft,
    q_tpot[1] AS p50_tpot_s, q_tpot[2] AS p95_tpot_s, q_tpot[3] AS p99_tpot_s, coalesce(n_tpot, 0) AS n_tpot,
    q_e2e[1] AS p50_e2e_s, q_e2e[2] AS p95_e2e_s, q_e2e[3] AS p99_e2e_s, coalesce(n_e2e, 0) AS n_e2e,
    q_queue[1] AS p50_queue_s, q_queue[2] AS p95_queue_s, q_queue[3] AS p99_queue_s, coalesce(n_queue, 0) AS n_queue,
    failed_ttft / nullif(gated_ttft, 0) AS ttft_fail_ratio,
    failed_tpot / nullif(gated_tpot, 0) AS tpot_fail_ratio,
    failed_e2e / nullif(gated_e2e, 0) AS e2e_fail_ratio,
    retried / nullif(offered, 0) AS retry_ratio,
    coalesce(tpot_na, 0) AS tpot_na,
    CASE greatest(sole_success, sole_retries, sole_ttft, sole_tpot, sole_e2e, sole_itl_p95, sole_jitter,
        sole_deadline, sole_quality)
        WHEN 0 THEN NULL
        WHEN sole_success THEN 'success' WHEN sole_retries THEN 'retries' WHEN sole_ttft THEN 'ttft'
        WHEN sole_tpot THEN 'tpot' WHEN sole_e2e THEN 'e2e' WHEN sole_itl_p95 THEN 'itl_p95'
        WHEN sole_jitter THEN 'jitter' WHEN sole_deadline THEN 'deadline' WHEN sole_quality THEN 'quality'
    END AS binding_gate,
    coalesce(greatest(sole_success, sole_retries, sole_ttft, sole_tpot, sole_e2e, sole_itl_p95, sole_jitter,
        sole_deadline, sole_quality), 0) AS binding_gate_requests,
    NULL::DOUBLE AS cost_usd,
    NULL::DOUBLE AS cost_per_accepted_usd,
    least(coalesce(succeeded, 0), coalesce(offered - unevaluable, 0)) < 100 AS low_n,
    s.start_s < $observed_from_s OR s.start_s + s.window_s > $observed_until_s AS partial
FROM summed AS s
LEFT JOIN timed AS t
    ON t.window_s = s.window_s AND t.start_s = s.start_s AND t.cut = s.cut
    AND t.workload IS NOT DISTINCT FROM s.workload AND t.model IS NOT DISTINCT FROM s.model
    AND t.pool IS NOT DISTINCT FROM s.pool AND t.route IS NOT DISTINCT FROM s.route
