-- description: Windowed goodput of every slice at several grains (docs/semantics.md#windows)
-- grain: window_start, window_s, slice, slice_value, workload, model, pool, route
-- reads: estimated_windows, gate_verdicts, large_partition, slice_quantiles, slices, waste, window_counts, window_options, window_quantiles, workload_rules
-- coverage_ratio: of each request's replica in the hour that it ended in, see coverage.sql; weighted by requests
-- unobserved: requests that engines counted and no telemetry shows: accepted ones among them are between none and all
-- queue_late, retries_late, prefill_late, work_late: of slow requests, by late_by of `requests`
-- identity: V: offered = failed + ungated + over_budget + slow + rejected + unevaluable + unlabelled + accepted
WITH strata AS (
    SELECT
        s.slice, c.slice_value, window_s, start_s,
        CASE WHEN s.by_workload THEN c.workload END AS k_workload,
        CASE WHEN s.by_model THEN c.model END AS k_model,
        CASE WHEN s.by_pool THEN c.pool END AS k_pool,
        CASE WHEN s.by_route THEN c.route END AS k_route,
        c.workload,
        sum(COLUMNS(c.* EXCLUDE (window_s, start_s, cut, slice_value, workload, model, pool, route)))::BIGINT
    FROM window_counts AS c
    -- windows with costs alone are told apart as `waste` does it: by workload in slices by workload and value, not in those by value
    JOIN slices AS s
        ON s.cut = c.cut AND CASE WHEN s.by_workload THEN c.workload IS NOT NULL ELSE s.cut = 0 OR c.workload IS NULL OR c.seen > 0 END
    GROUP BY ALL
),
ruled AS (
    SELECT
        s.*,
        coalesce(w.has_quality, false) AS has_quality,
        -- requests that pass every other gate: what failed one is in no doubt, whatever a judge would say
        CASE WHEN w.has_quality THEN s.need ELSE s.accepted END AS passing
    FROM strata AS s
    LEFT JOIN workload_rules AS w USING (workload)
),
summed AS (
    SELECT
        slice, slice_value, window_s, start_s, k_workload, k_model, k_pool, k_route,
        sum(offered)::BIGINT AS offered, sum(arrivals)::BIGINT AS arrivals, sum(succeeded)::BIGINT AS succeeded,
        sum(failed)::BIGINT AS failed, sum(ungated)::BIGINT AS ungated, sum(over_budget)::BIGINT AS over_budget, sum(slow)::BIGINT AS slow,
        sum(queue_late)::BIGINT AS queue_late, sum(retries_late)::BIGINT AS retries_late,
        sum(prefill_late)::BIGINT AS prefill_late, sum(work_late)::BIGINT AS work_late,
        sum(rejected)::BIGINT AS rejected, sum(unevaluable)::BIGINT AS unevaluable, sum(unlabelled)::BIGINT AS unlabelled,
        sum(accepted)::BIGINT AS accepted,
        sum(retried)::BIGINT AS retried, sum(tpot_na)::BIGINT AS tpot_na, sum(succeeded_tokens)::BIGINT AS succeeded_tokens,
        sum(n_ttft)::BIGINT AS n_ttft, sum(n_tpot)::BIGINT AS n_tpot, sum(n_e2e)::BIGINT AS n_e2e, sum(n_queue)::BIGINT AS n_queue,
        sum(n_coverage)::BIGINT AS n_coverage, sum(coverage_ppm)::BIGINT AS coverage_ppm,
        CASE WHEN sum(n_unobserved) > 0 THEN sum(unobserved_ppm) / 1e6 END AS unobserved,
        -- of a window of which telemetry shows nothing there is money alone
        sum(seen) + sum(live) > 0 AS is_seen,
        -- without a quality gate all is known
        coalesce(sum(accepted) FILTER (WHERE NOT has_quality), 0)::BIGINT AS ungated_accepted,
        coalesce(sum(passed_tokens) FILTER (WHERE NOT has_quality), 0)::BIGINT AS ungated_tokens,
        coalesce(sum(need) FILTER (WHERE has_quality), 0)::BIGINT AS need,
        coalesce(sum(labelled) FILTER (WHERE has_quality), 0)::BIGINT AS labelled,
        ratio(sum(need), sum(passing)) AS quality_gated_ratio,
        sum(judged)::BIGINT AS quality_judged,
        ratio(sum(judged_passed), sum(judged)) AS quality_pass_ratio,
        ratio(sum(accepted) FILTER (WHERE has_quality), sum(labelled)) AS quality_pass_in_bounds_ratio,
        CASE
            -- where nothing passes, it is as sure as its workloads can make it; those that only bear GPU time have no say in it,
            -- unless nobody else is there, and those that only bear money have none
            WHEN NOT coalesce(bool_or(has_quality) FILTER (WHERE seen > 0), bool_or(has_quality) FILTER (WHERE live > 0), false) OR (sum(passing) > 0 AND sum(labelled) = 0) THEN 'latency_constrained'
            WHEN sum(labelled) < sum(passing) THEN 'estimated'
            ELSE 'full'
        END AS definition
    FROM ruled
    GROUP BY ALL
),
-- each row of `waste` has unlabelled cost divided by its own labels; what these leave open of accepted cost they leave open of the rest
added_costs AS (
    SELECT
        slice, slice_value, window_s, epoch_us(window_start) // 1000000 AS start_s,
        workload::workload_code AS k_workload, model::model_code AS k_model, pool::pool_code AS k_pool, route::route_code AS k_route,
        sum_usd(usd) AS usd, sum_usd(direct_usd) AS direct_usd, sum(unpriced)::BIGINT AS unpriced,
        coalesce(sum_usd(CASE WHEN bucket NOT IN ('accepted', 'unlabelled') THEN usd END), 0) AS wasted_usd,
        -- what one bucket has too much another has too little
        CASE WHEN count(usd) = count(error_usd) FILTER (WHERE usd IS NOT NULL)
            THEN sqrt(sum(error_usd ** 2 ORDER BY bucket) FILTER (WHERE usd IS NOT NULL)) END AS error_usd,
        any_value({low: ci_low_usd, high: ci_high_usd}) FILTER (WHERE bucket = 'accepted') AS accepted
    FROM waste
    GROUP BY ALL
),
costed AS (
    SELECT *, ratio(wasted_usd, usd) AS wasted_ratio FROM added_costs
),
estimated AS (
    SELECT
        s.*,
        s.ungated_accepted + coalesce(e.estimate, 0) AS estimate,
        s.ungated_accepted + coalesce(e.low, 0) AS low,
        s.ungated_accepted + coalesce(e.high, 0) AS high,
        s.ungated_accepted + coalesce(e.lower, 0) AS lower,
        s.ungated_accepted + coalesce(e.upper, 0) AS upper,
        s.ungated_tokens + coalesce(e.estimate_tokens, 0) AS estimate_tokens,
        s.ungated_tokens + coalesce(e.low_tokens, 0) AS low_tokens,
        s.ungated_tokens + coalesce(e.high_tokens, 0) AS high_tokens,
        coalesce(e.unweighted, false) AS unweighted
    FROM summed AS s
    LEFT JOIN estimated_windows AS e
        ON e.slice = s.slice AND e.slice_value IS NOT DISTINCT FROM s.slice_value AND e.window_s = s.window_s AND e.start_s = s.start_s
        AND e.k_workload IS NOT DISTINCT FROM s.k_workload AND e.k_model IS NOT DISTINCT FROM s.k_model
        AND e.k_pool IS NOT DISTINCT FROM s.k_pool AND e.k_route IS NOT DISTINCT FROM s.k_route
)
SELECT
    make_timestamptz(w.start_s * 1000000) AS window_start,
    w.window_s,
    s.slice, w.slice_value,
    w.k_workload AS workload, w.k_model AS model, w.k_pool AS pool, w.k_route AS route,
    w.offered, w.arrivals, w.succeeded,
    w.failed, w.ungated, w.over_budget, w.slow, w.rejected, w.unevaluable, w.unlabelled, w.accepted,
    w.queue_late, w.retries_late, w.prefill_late, w.work_late,
    w.succeeded / w.window_s AS throughput_rps,
    -- of labels that nobody drew there are bounds and no estimate
    CASE WHEN NOT w.unweighted THEN w.estimate END AS goodput_requests,
    goodput_requests / w.window_s AS goodput_rps,
    w.low / w.window_s AS goodput_ci_low_rps,
    w.high / w.window_s AS goodput_ci_high_rps,
    w.lower / w.window_s AS goodput_lower_rps,
    w.upper / w.window_s AS goodput_upper_rps,
    ratio(goodput_requests, w.offered) AS goodput_ratio,
    ratio(w.low, w.offered) AS goodput_ratio_ci_low,
    ratio(w.high, w.offered) AS goodput_ratio_ci_high,
    CASE WHEN w.unweighted THEN 'unweighted' ELSE w.definition END AS definition,
    w.need AS need_label, w.labelled,
    w.quality_gated_ratio,
    ratio(w.labelled, w.need) AS quality_coverage_ratio,
    w.quality_judged,
    w.quality_pass_ratio,
    w.quality_pass_in_bounds_ratio,
    w.succeeded_tokens / w.window_s AS output_tps,
    CASE WHEN NOT w.unweighted THEN w.estimate_tokens / w.window_s END AS output_token_goodput_tps,
    w.low_tokens / w.window_s AS output_token_goodput_ci_low_tps,
    w.high_tokens / w.window_s AS output_token_goodput_ci_high_tps,
    t.q_ttft[1] AS p50_ttft_s, t.q_ttft[2] AS p95_ttft_s, t.q_ttft[3] AS p99_ttft_s, w.n_ttft,
    t.q_tpot[1] AS p50_tpot_s, t.q_tpot[2] AS p95_tpot_s, t.q_tpot[3] AS p99_tpot_s, w.n_tpot,
    t.q_e2e[1] AS p50_e2e_s, t.q_e2e[2] AS p95_e2e_s, t.q_e2e[3] AS p99_e2e_s, w.n_e2e,
    t.q_queue[1] AS p50_queue_s, t.q_queue[2] AS p95_queue_s, t.q_queue[3] AS p99_queue_s, w.n_queue,
    percentiles_of(z.is_large) AS percentiles,
    v.ttft_fail_ratio, v.tpot_fail_ratio, v.e2e_fail_ratio,
    ratio(w.retried, w.offered) AS retry_ratio,
    w.tpot_na,
    v.binding_gate,
    coalesce(v.binding_gate_requests, 0) AS binding_gate_requests,
    c.usd AS cost_usd,
    c.direct_usd AS direct_cost_usd,
    c.error_usd AS cost_error_usd,
    coalesce(c.unpriced, 0) AS unpriced,
    -- nothing accepted has no price, not an infinite one
    CASE WHEN goodput_requests > 0 THEN c.usd / goodput_requests END AS cost_per_accepted_usd,
    price_within(c.usd, c.error_usd, goodput_requests, w.low, w.high, w.lower, w.upper).low AS cost_per_accepted_ci_low_usd,
    -- what has no price makes it dearer
    if_all_priced(price_within(c.usd, c.error_usd, goodput_requests, w.low, w.high, w.lower, w.upper).high, c.unpriced)
        AS cost_per_accepted_ci_high_usd,
    CASE
        WHEN c.usd IS NULL THEN 'cost_unknown'
        WHEN w.high = 0 OR (c.usd < 0 AND w.low = 0) THEN 'nothing_accepted'
        WHEN c.error_usd IS NULL THEN 'error_unknown'
        WHEN c.unpriced > 0 THEN 'work_unpriced'
    END AS no_cost_interval,
    CASE WHEN NOT w.unweighted THEN c.wasted_ratio END AS wasted_ratio,
    if_all_priced(CASE
        WHEN c.accepted IS NULL THEN c.wasted_ratio
        WHEN c.accepted.high IS NOT NULL THEN least(c.wasted_ratio, ratio(c.usd - c.accepted.high, c.usd))
    END, c.unpriced) AS wasted_ci_low_ratio,
    if_all_priced(
        CASE WHEN c.accepted IS NULL THEN c.wasted_ratio ELSE at_least(ratio(c.usd - c.accepted.low, c.usd), c.wasted_ratio) END,
        c.unpriced) AS wasted_ci_high_ratio,
    CASE
        WHEN c.usd IS NULL THEN 'cost_unknown'
        WHEN c.wasted_ratio IS NULL THEN 'nothing_spent'
        WHEN c.unpriced > 0 THEN 'work_unpriced'
        WHEN wasted_ci_low_ratio IS NULL THEN 'error_unknown'
    END AS no_wasted_interval,
    ratio(w.coverage_ppm, w.n_coverage) / 1e6 AS coverage_ratio,
    w.unobserved,
    ratio(goodput_requests, w.offered + w.unobserved) AS goodput_ratio_low,
    ratio(goodput_requests + w.unobserved, w.offered + w.unobserved) AS goodput_ratio_high,
    is_low_n(w.succeeded - w.unevaluable) AS low_n,
    CASE
        WHEN w.is_seen THEN
            greatest(0, least((w.start_s + w.window_s) * 1000000000, p.observed_until_ns) - greatest(w.start_s * 1000000000, p.observed_from_ns)) / 1e9
        ELSE 0
    END AS observed_s,
    ratio(w.succeeded, observed_s) AS throughput_observed_rps,
    ratio(goodput_requests, observed_s) AS goodput_observed_rps,
    NOT w.is_seen OR w.start_s * 1000000000 < p.observed_from_ns OR (w.start_s + w.window_s) * 1000000000 > p.observed_until_ns AS partial
FROM estimated AS w
JOIN slice_quantiles AS s USING (slice)
CROSS JOIN window_options AS p
CROSS JOIN large_partition AS z
LEFT JOIN window_quantiles AS t
    ON t.cut = s.cut AND t.window_s = w.window_s AND t.start_s = w.start_s AND t.k_value IS NOT DISTINCT FROM w.slice_value
    AND t.quantile_by_workload = s.quantile_by_workload AND t.quantile_by_model = s.quantile_by_model
    AND t.quantile_by_pool = s.quantile_by_pool AND t.quantile_by_route = s.quantile_by_route
    AND t.k_workload IS NOT DISTINCT FROM CASE WHEN s.quantile_by_workload THEN w.k_workload END
    AND t.k_model IS NOT DISTINCT FROM CASE WHEN s.quantile_by_model THEN w.k_model END
    AND t.k_pool IS NOT DISTINCT FROM CASE WHEN s.quantile_by_pool THEN w.k_pool END
    AND t.k_route IS NOT DISTINCT FROM CASE WHEN s.quantile_by_route THEN w.k_route END
LEFT JOIN costed AS c
    ON c.slice = w.slice AND c.slice_value IS NOT DISTINCT FROM w.slice_value AND c.window_s = w.window_s AND c.start_s = w.start_s AND c.k_workload IS NOT DISTINCT FROM w.k_workload
    AND c.k_model IS NOT DISTINCT FROM w.k_model AND c.k_pool IS NOT DISTINCT FROM w.k_pool
    AND c.k_route IS NOT DISTINCT FROM w.k_route
LEFT JOIN gate_verdicts AS v
    ON v.slice = w.slice AND v.slice_value IS NOT DISTINCT FROM w.slice_value AND v.window_s = w.window_s AND v.window_start = make_timestamptz(w.start_s * 1000000)
    AND v.workload IS NOT DISTINCT FROM w.k_workload AND v.model IS NOT DISTINCT FROM w.k_model
    AND v.pool IS NOT DISTINCT FROM w.k_pool AND v.route IS NOT DISTINCT FROM w.k_route
