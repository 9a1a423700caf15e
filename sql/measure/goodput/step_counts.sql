-- description: Requests that ended and arrived in each step by the finest dimensions, and by workload and value of each slice by tenant or attribute
-- grain: step_start_s, cut, slice_value, workload, model, pool, route
-- reads: cut_requests, measured_range, window_options
-- Counts of one step, from whichever requests, add up.
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
        count(coverage_ppm) AS n_coverage, sum(coverage_ppm)::BIGINT AS coverage_ppm,
        count(unobserved_ppm) AS n_unobserved, sum(unobserved_ppm)::BIGINT AS unobserved_ppm,
        count(*) FILTER (WHERE retried) AS retried,
        count(*) FILTER (WHERE tpot_na) AS tpot_na,
        count(*) FILTER (WHERE needs_label) AS need,
        count(pass_quality) FILTER (WHERE needs_label) AS labelled,
        -- as a judge sees it: of all answers, in time or not
        count(pass_quality) FILTER (WHERE pass_success) AS judged,
        count(*) FILTER (WHERE pass_success AND pass_quality) AS judged_passed,
        sum(output_tokens) FILTER (WHERE pass_success)::BIGINT AS succeeded_tokens,
        sum(output_tokens) FILTER (WHERE verdict = 'accepted')::BIGINT AS passed_tokens,
        sum(output_tokens) FILTER (WHERE needs_label)::BIGINT AS need_tokens,
        sum(output_tokens) FILTER (WHERE needs_label AND pass_quality IS NOT NULL)::BIGINT AS labelled_tokens
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
        AND coalesce(arrived_s // 3600 >= ended_s // 3600 - request_reach_h, true) -- else it may or may not have been read
    GROUP BY ALL
)
SELECT * FROM ended UNION ALL BY NAME SELECT * FROM arrived
