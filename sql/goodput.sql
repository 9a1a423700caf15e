-- description: Windowed goodput of one slice at several grains (semantics 4); run once per row of `slices`
-- grain: window_start, window_s, slice, workload, model, pool, route
-- identity: V: offered = failed + over_budget + slow + rejected + unevaluable + unlabelled + accepted
WITH keyed AS NOT MATERIALIZED (
    SELECT
        r.*,
        CASE WHEN s.by_workload THEN r.workload END AS k_workload,
        CASE WHEN s.by_model THEN r.model END AS k_model,
        CASE WHEN s.by_pool THEN r.pool END AS k_pool,
        CASE WHEN s.by_route THEN r.route END AS k_route
    FROM measured_requests AS r
    CROSS JOIN slice AS s
),
completed AS NOT MATERIALIZED (
    SELECT k.*, g.window_s, k.ended_s // g.window_s * g.window_s AS start_s
    FROM keyed AS k
    CROSS JOIN grains AS g
    CROSS JOIN span AS p
    WHERE k.ended_s >= p.from_s AND k.ended_s < p.until_s
),
timed AS (
    SELECT
        window_s, start_s, k_workload, k_model, k_pool, k_route,
        quantile_cont(ttft_s, [0.5, 0.95, 0.99]) AS q_ttft,
        quantile_cont(tpot_s, [0.5, 0.95, 0.99]) AS q_tpot,
        quantile_cont(e2e_s, [0.5, 0.95, 0.99]) AS q_e2e,
        quantile_cont(queue_s, [0.5, 0.95, 0.99]) AS q_queue
    FROM completed
    GROUP BY ALL
),
-- labels are sampled workload by workload, so pass rates are estimated there and only then added up
strata AS (
    SELECT
        window_s, start_s, k_workload, k_model, k_pool, k_route, workload,
        count(*) AS offered,
        count_if(pass_success) AS succeeded,
        count_if(verdict = 'failed') AS failed,
        count_if(verdict = 'over_budget') AS over_budget,
        count_if(verdict = 'slow') AS slow,
        count_if(verdict = 'rejected') AS rejected,
        count_if(verdict = 'unevaluable') AS unevaluable,
        count_if(verdict = 'unlabelled') AS unlabelled,
        count_if(verdict = 'accepted') AS accepted,
        sum(output_tokens) FILTER (WHERE pass_success) AS succeeded_tokens,
        count(ttft_s) AS n_ttft,
        count(tpot_s) AS n_tpot,
        count(e2e_s) AS n_e2e,
        count(queue_s) AS n_queue,
        count_if(NOT pass_ttft) AS failed_ttft, count(pass_ttft) AS gated_ttft,
        count_if(NOT pass_tpot) AS failed_tpot, count(pass_tpot) AS gated_tpot,
        count_if(NOT pass_e2e) AS failed_e2e, count(pass_e2e) AS gated_e2e,
        count_if(retried) AS retried,
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
        coalesce(sum(output_tokens) FILTER (WHERE verdict = 'accepted'), 0) AS passed_tokens,
        coalesce(sum(output_tokens) FILTER (WHERE needs_label), 0) AS need_tokens,
        coalesce(sum(output_tokens) FILTER (WHERE needs_label AND pass_quality IS NOT NULL), 0) AS labelled_tokens
    FROM completed
    GROUP BY ALL
),
counted AS (
    SELECT
        window_s, start_s, k_workload, k_model, k_pool, k_route,
        sum(COLUMNS('offered|succeeded.*|failed.*|over_budget|slow|rejected|unevaluable|unlabelled|accepted|n_.*|gated_.*|retried|tpot_na|sole_.*'))
    FROM strata
    GROUP BY ALL
),
bounded AS (
    SELECT
        s.*,
        coalesce(w.has_quality, false) AS has_quality,
        coalesce(w.unlabelled, 'estimate') AS policy,
        coalesce(w.has_quality AND w.unlabelled = 'estimate' AND s.labelled > 0, false) AS sampled,
        s.accepted AS lower,
        CASE WHEN w.has_quality THEN s.accepted + s.need - s.labelled ELSE s.accepted END AS upper,
        ratio(s.accepted, s.labelled) AS pass_rate,
        drawn_size(s.labelled, s.need) AS n
    FROM strata AS s
    LEFT JOIN workloads AS w USING (workload)
),
estimated AS (
    SELECT
        *,
        CASE
            WHEN sampled THEN need * pass_rate
            WHEN policy = 'fail' THEN lower
            ELSE upper
        END AS estimate,
        CASE
            WHEN NOT has_quality THEN passed_tokens
            WHEN sampled THEN coalesce(need_tokens * ratio(passed_tokens, labelled_tokens), 0)
            WHEN policy = 'fail' THEN passed_tokens
            ELSE need_tokens - labelled_tokens + passed_tokens
        END AS estimate_tokens,
        CASE WHEN sampled THEN greatest(lower, need * (wilson_mid(pass_rate, n) - wilson_half(pass_rate, n))) ELSE lower END AS low,
        CASE WHEN sampled THEN least(upper, need * (wilson_mid(pass_rate, n) + wilson_half(pass_rate, n))) ELSE upper END AS high,
        CASE
            WHEN NOT has_quality OR (need > 0 AND labelled = 0) THEN 2
            WHEN labelled < need THEN 1
            ELSE 0
        END AS doubt
    FROM bounded
),
-- independent strata: the deviations of the interval's ends add in quadrature (Newcombe's square-and-add)
summed AS (
    SELECT
        window_s, start_s, k_workload, k_model, k_pool, k_route,
        sum(estimate) AS estimate,
        sum(estimate_tokens) AS estimate_tokens,
        sum(lower) AS lower,
        sum(upper) AS upper,
        sqrt(sum((estimate - low) ** 2)) AS below,
        sqrt(sum((high - estimate) ** 2)) AS above,
        ratio(sum(labelled) FILTER (WHERE has_quality), sum(need)) AS quality_coverage_ratio,
        max(doubt) AS doubt
    FROM estimated
    GROUP BY ALL
),
arrived AS (
    SELECT
        g.window_s, k.arrived_s // g.window_s * g.window_s AS start_s, k_workload, k_model, k_pool, k_route,
        count(*) AS arrivals
    FROM keyed AS k
    CROSS JOIN grains AS g
    CROSS JOIN span AS p
    WHERE k.arrived_s >= p.from_s AND k.arrived_s < p.until_s
    GROUP BY ALL
),
-- a window in which work was only under way had live replicas: it exists, with nothing offered
under_way AS (
    SELECT DISTINCT
        window_s, unnest(range(first_s + window_s, last_s, window_s)) AS start_s,
        k_workload, k_model, k_pool, k_route
    FROM (
        SELECT
            g.window_s, k_workload, k_model, k_pool, k_route,
            k.arrived_s // g.window_s * g.window_s AS first_s, k.ended_s // g.window_s * g.window_s AS last_s
        FROM keyed AS k
        CROSS JOIN grains AS g
        WHERE k.ended_s - k.arrived_s > g.window_s
    )
),
windows AS (
    SELECT window_s, start_s, k_workload, k_model, k_pool, k_route FROM counted
    UNION
    SELECT window_s, start_s, k_workload, k_model, k_pool, k_route FROM arrived
    UNION
    SELECT u.* FROM under_way AS u CROSS JOIN span AS p WHERE u.start_s >= p.from_s AND u.start_s < p.until_s
)
SELECT
    make_timestamptz(w.start_s * 1000000) AS window_start,
    w.window_s,
    s.slice,
    w.k_workload AS workload, w.k_model AS model, w.k_pool AS pool, w.k_route AS route,
    coalesce(c.offered, 0) AS offered,
    coalesce(a.arrivals, 0) AS arrivals,
    coalesce(c.succeeded, 0) AS succeeded,
    coalesce(c.failed, 0) AS failed,
    coalesce(c.over_budget, 0) AS over_budget,
    coalesce(c.slow, 0) AS slow,
    coalesce(c.rejected, 0) AS rejected,
    coalesce(c.unevaluable, 0) AS unevaluable,
    coalesce(c.unlabelled, 0) AS unlabelled,
    coalesce(c.accepted, 0) AS accepted,
    coalesce(c.succeeded, 0) / w.window_s AS throughput_rps,
    coalesce(e.estimate, 0) / w.window_s AS goodput_rps,
    greatest(coalesce(e.lower, 0), coalesce(e.estimate - e.below, 0)) / w.window_s AS goodput_ci_low_rps,
    least(coalesce(e.upper, 0), coalesce(e.estimate + e.above, 0)) / w.window_s AS goodput_ci_high_rps,
    coalesce(e.lower, 0) / w.window_s AS goodput_lower_rps,
    coalesce(e.upper, 0) / w.window_s AS goodput_upper_rps,
    ratio(e.estimate, c.offered) AS goodput_ratio,
    ['full', 'estimated', 'latency_constrained'][coalesce(e.doubt, 0) + 1] AS definition,
    e.quality_coverage_ratio,
    coalesce(c.succeeded_tokens, 0) / w.window_s AS output_tps,
    coalesce(e.estimate_tokens, 0) / w.window_s AS output_token_goodput_tps,
    t.q_ttft[1] AS p50_ttft_s, t.q_ttft[2] AS p95_ttft_s, t.q_ttft[3] AS p99_ttft_s, coalesce(c.n_ttft, 0) AS n_ttft,
    t.q_tpot[1] AS p50_tpot_s, t.q_tpot[2] AS p95_tpot_s, t.q_tpot[3] AS p99_tpot_s, coalesce(c.n_tpot, 0) AS n_tpot,
    t.q_e2e[1] AS p50_e2e_s, t.q_e2e[2] AS p95_e2e_s, t.q_e2e[3] AS p99_e2e_s, coalesce(c.n_e2e, 0) AS n_e2e,
    t.q_queue[1] AS p50_queue_s, t.q_queue[2] AS p95_queue_s, t.q_queue[3] AS p99_queue_s, coalesce(c.n_queue, 0) AS n_queue,
    ratio(c.failed_ttft, c.gated_ttft) AS ttft_fail_ratio,
    ratio(c.failed_tpot, c.gated_tpot) AS tpot_fail_ratio,
    ratio(c.failed_e2e, c.gated_e2e) AS e2e_fail_ratio,
    ratio(c.retried, c.offered) AS retry_ratio,
    coalesce(c.tpot_na, 0) AS tpot_na,
    CASE b.requests
        WHEN 0 THEN NULL
        WHEN c.sole_success THEN 'success' WHEN c.sole_retries THEN 'retries' WHEN c.sole_ttft THEN 'ttft'
        WHEN c.sole_tpot THEN 'tpot' WHEN c.sole_e2e THEN 'e2e' WHEN c.sole_itl_p95 THEN 'itl_p95'
        WHEN c.sole_jitter THEN 'jitter' WHEN c.sole_deadline THEN 'deadline' WHEN c.sole_quality THEN 'quality'
    END AS binding_gate,
    coalesce(b.requests, 0) AS binding_gate_requests,
    NULL::DOUBLE AS cost_usd,
    NULL::DOUBLE AS cost_per_accepted_usd,
    -- a p99 of fewer than 100 values is no better than their maximum
    least(coalesce(c.succeeded, 0), coalesce(c.offered - c.unevaluable, 0)) < 100 AS low_n,
    w.start_s < p.observed_from_s OR w.start_s + w.window_s > p.observed_until_s AS partial
FROM windows AS w
CROSS JOIN slice AS s
CROSS JOIN span AS p
LEFT JOIN counted AS c
    ON c.window_s = w.window_s AND c.start_s = w.start_s AND c.k_workload IS NOT DISTINCT FROM w.k_workload
    AND c.k_model IS NOT DISTINCT FROM w.k_model AND c.k_pool IS NOT DISTINCT FROM w.k_pool
    AND c.k_route IS NOT DISTINCT FROM w.k_route
LEFT JOIN timed AS t
    ON t.window_s = w.window_s AND t.start_s = w.start_s AND t.k_workload IS NOT DISTINCT FROM w.k_workload
    AND t.k_model IS NOT DISTINCT FROM w.k_model AND t.k_pool IS NOT DISTINCT FROM w.k_pool
    AND t.k_route IS NOT DISTINCT FROM w.k_route
LEFT JOIN summed AS e
    ON e.window_s = w.window_s AND e.start_s = w.start_s AND e.k_workload IS NOT DISTINCT FROM w.k_workload
    AND e.k_model IS NOT DISTINCT FROM w.k_model AND e.k_pool IS NOT DISTINCT FROM w.k_pool
    AND e.k_route IS NOT DISTINCT FROM w.k_route
LEFT JOIN arrived AS a
    ON a.window_s = w.window_s AND a.start_s = w.start_s AND a.k_workload IS NOT DISTINCT FROM w.k_workload
    AND a.k_model IS NOT DISTINCT FROM w.k_model AND a.k_pool IS NOT DISTINCT FROM w.k_pool
    AND a.k_route IS NOT DISTINCT FROM w.k_route
LEFT JOIN LATERAL (SELECT greatest(c.sole_success, c.sole_retries, c.sole_ttft, c.sole_tpot, c.sole_e2e,
    c.sole_itl_p95, c.sole_jitter, c.sole_deadline, c.sole_quality) AS requests) AS b ON true
