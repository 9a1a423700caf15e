-- description: What all attempts of a replica asked of it in a window, and what its counters say beyond that
-- grain: replica, step_s
-- unit: weighted tokens; *_per_s: tokens for each second in flight of the attempts that do not report them
WITH told AS (
    SELECT
        replica, step_s,
        coalesce(sum_steady(told_work * share), 0) AS told_work,
        ratio(sum_steady(CASE WHEN seconds > 0 THEN told_work * share END),
            sum_steady(CASE WHEN told_work IS NOT NULL THEN seconds END)) AS told_work_per_s,
        coalesce(sum_steady(CASE WHEN told_work IS NULL THEN seconds END), 0) AS untold_s,
        sum_steady(seconds) AS in_flight_s,
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
    WHERE replica IS NOT NULL AND is_wanted
    GROUP BY replica, step_s
),
spread AS (
    SELECT
        t.*,
        -- nothing told of any: time alone is work
        coalesce(nullif(t.told_work_per_s, 0), CASE WHEN t.told_work = 0 THEN 1.0 ELSE 0 END) AS work_per_s,
        coalesce(ratio(greatest(0, c.recomputed_tokens - t.recomputed_tokens), t.unreported_recomputed_s), 0) AS recomputed_per_s,
        coalesce(ratio(greatest(0, c.draft_tokens - t.draft_tokens), t.unreported_draft_s), 0) AS draft_per_s,
        coalesce(ratio(greatest(0, c.rejected_tokens - t.rejected_tokens), t.unreported_draft_s), 0) AS rejected_per_s
    FROM told AS t
    LEFT JOIN counter_steps AS c USING (replica, step_s)
)
SELECT
    replica, step_s, in_flight_s, work_per_s, recomputed_per_s, draft_per_s, rejected_per_s,
    told_work + extra_work + untold_s * work_per_s
        + coalesce(recomputed_per_s * unreported_prefill, 0) + coalesce(draft_per_s * unreported_draft, 0) AS work
FROM spread
