-- description: The work that all attempts asked of a replica in a window, and what its counters report beyond that
-- grain: replica, step_s
-- reads: attempt_work_estimates, counter_steps, ledger_options, ledger_pieces
-- unit: weighted tokens; *_per_s: tokens for each second in flight of the attempts that do not report them
-- *_error_ratio: 95 % bounds relative to the quantity; *_common_ratio: the part of that error which is the same wherever the rule is
-- used: assumed halves, and attempts that report nothing and count by their time. Counters are spread evenly between two readings:
-- at each end of a window, up to one interval's increase may lie on the other side, uniformly. What a preemption discarded,
-- where only preemptions are counted, lies between nothing (all found in the cache again) and a whole context: half of an
-- answer is assumed, and the whole prompt too where prompts are never found in a cache.
WITH reported AS (
    SELECT
        replica, step_s,
        coalesce(sum_steady(coalesce(e.work, reported_work * share)), 0) AS reported_work,
        ratio(sum_steady(CASE WHEN seconds > 0 THEN coalesce(e.work, reported_work * share) END),
            sum_steady(CASE WHEN coalesce(e.work, reported_work) IS NOT NULL THEN seconds END)) AS reported_work_per_s,
        coalesce(sum_steady(CASE WHEN coalesce(e.work, reported_work) IS NULL THEN seconds END), 0) AS unreported_s,
        coalesce(sum_steady(e.error_work), 0) AS estimate_error_work,
        coalesce(sum_steady(e.common_error_work), 0) AS estimate_common_work,
        sum_steady(seconds) AS in_flight_s,
        ratio(sum_steady(CASE WHEN input_tokens IS NOT NULL THEN share * input_tokens END),
            sum_steady(CASE WHEN input_tokens IS NOT NULL THEN share END)) AS prompt_tokens,
        ratio(sum_steady(share * output_tokens), sum_steady(CASE WHEN output_tokens IS NOT NULL THEN share END)) AS answer_tokens,
        coalesce(sum(cached_input_tokens), 0) > 0 AS is_cached,
        coalesce(sum_steady(recomputed_tokens * share), 0) AS recomputed_tokens,
        coalesce(sum_steady(draft_tokens * share), 0) AS draft_tokens,
        coalesce(sum_steady(rejected_tokens * share), 0) AS rejected_tokens,
        coalesce(sum_steady(prefill_weight * recomputed_tokens * share), 0)
            + coalesce(sum_steady(draft_weight * draft_tokens * share), 0) AS extra_work,
        sum_steady(CASE WHEN recomputed_tokens IS NULL THEN seconds END) AS unreported_recomputed_s,
        sum_steady(CASE WHEN recomputed_tokens IS NULL THEN prefill_weight * seconds END) AS unreported_prefill,
        sum_steady(CASE WHEN draft_tokens IS NULL THEN seconds END) AS unreported_draft_s,
        sum_steady(CASE WHEN draft_tokens IS NULL THEN draft_weight * seconds END) AS unreported_draft
    FROM ledger_pieces
    LEFT JOIN attempt_work_estimates AS e USING (attempt_id, step_s)
    WHERE replica IS NOT NULL
    GROUP BY replica, step_s
),
counted AS (
    SELECT
        r.*,
        coalesce(r.prompt_tokens, 0) + coalesce(r.answer_tokens, 0) AS context_tokens,
        coalesce(r.answer_tokens, 0) / 2 + CASE WHEN is_cached THEN 0 ELSE coalesce(r.prompt_tokens, 0) END AS lost_tokens,
        c.recomputed_tokens + c.preemptions * lost_tokens AS counted_recomputed,
        c.draft_tokens AS counted_draft, c.rejected_tokens AS counted_rejected,
        -- of two ends, each anywhere within an interval: their variances add up
        least(1, 1.959963984540054 * sqrt(2.0 / 12) * ratio(c.interval_s * 1e9, o.step_ns)) AS edge_error_ratio,
        CASE WHEN c.preemptions > 0 THEN greatest(1, ratio(context_tokens, lost_tokens) - 1) ELSE 0 END AS context_error_ratio
    FROM reported AS r
    CROSS JOIN ledger_options AS o
    LEFT JOIN counter_steps AS c USING (replica, step_s)
),
spread AS (
    SELECT
        *,
        -- nothing reported of any: time alone is work
        coalesce(nullif(reported_work_per_s, 0), CASE WHEN reported_work = 0 THEN 1.0 ELSE 0 END) AS work_per_s,
        coalesce(ratio(greatest(0, counted_recomputed - recomputed_tokens), unreported_recomputed_s), 0) AS recomputed_per_s,
        coalesce(ratio(greatest(0, counted_draft - draft_tokens), unreported_draft_s), 0) AS draft_per_s,
        -- attempts and counters need not agree: what was rejected was drafted, or work would be less than nothing
        least(draft_per_s, coalesce(ratio(greatest(0, counted_rejected - rejected_tokens), unreported_draft_s), 0)) AS rejected_per_s
    FROM counted
)
SELECT
    replica, step_s, in_flight_s, work_per_s, recomputed_per_s, draft_per_s, rejected_per_s,
    coalesce(recomputed_per_s * unreported_prefill, 0) AS recomputed_work,
    coalesce(draft_per_s * unreported_draft, 0) AS draft_work,
    reported_work + extra_work + unreported_s * work_per_s + recomputed_work + draft_work AS work,
    coalesce(edge_error_ratio, 0) AS draft_error_ratio,
    coalesce(edge_error_ratio + context_error_ratio, 0) AS recomputed_error_ratio,
    coalesce(ratio(
        estimate_error_work + unreported_s * work_per_s + draft_work * draft_error_ratio + recomputed_work * recomputed_error_ratio,
        work
    ), 0) AS work_error_ratio,
    coalesce(ratio(estimate_common_work + unreported_s * work_per_s + recomputed_work * context_error_ratio, work), 0) AS work_common_ratio,
    draft_error_ratio + work_error_ratio AS speculating_error_ratio,
    recomputed_error_ratio + work_error_ratio AS recomputing_error_ratio,
    context_error_ratio + work_common_ratio AS recomputing_common_ratio
FROM spread
