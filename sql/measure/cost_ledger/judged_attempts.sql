-- description: Attempts in the hours asked for, of which those that delivered have the verdict on their request
-- grain: attempt_id, part_hour
-- reads: attempts, requests, target_hours
-- kind: view
WITH target AS (
    SELECT min(epoch_hour) * 3600000000000 AS from_ns, (max(epoch_hour) + 1) * 3600000000000 AS until_ns FROM target_hours
)
SELECT
    a.attempt_id, a.request_key, a.workload, a.model, a.replica, a.pool, a.route, a.tenant, a.engine_seen, a.part_hour,
    a.started_ns, a.first_token_ns, a.ended_ns, a.delivered, a.outcome, a.streamed, q.verdict, q.late_by,
    a.input_tokens, a.cached_input_tokens, a.cache_write_tokens, a.output_tokens, a.reasoning_tokens,
    a.recomputed_tokens, a.draft_tokens, a.accepted_draft_tokens, a.answered_from_cache, a.reported_cost_usd
FROM attempts AS a
-- an id that comes back hours later is of another request
LEFT JOIN requests AS q
    ON a.delivered AND q.delivering_attempt_id = a.attempt_id
        AND epoch_us(coalesce(q.ended_at, q.arrived_at)) // 3600000000 = a.part_hour
-- one condition, not two: DuckDB would take attempts for fewer than requests, and hash them with all their columns
WHERE coalesce(
    a.started_ns < (SELECT until_ns FROM target) AND greatest(a.ended_ns, a.started_ns) >= (SELECT from_ns FROM target), false
)
