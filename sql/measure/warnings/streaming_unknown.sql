-- description: Answers that engines recorded and of which no record says whether they were streamed, where that may decide whether they came in time
-- grain: subject
-- reads: attempts, workload_rules
-- unit: at_stake: first tokens in time, and ends beyond the bound
WITH answers AS (
    SELECT
        a.workload, count(*) AS answers, count(*) FILTER (WHERE a.streamed IS NULL) AS unsaid,
        count(*) FILTER (WHERE a.streamed IS NULL AND a.ttft_s * 1e9 <= r.ttft_bound_ns AND a.e2e_s * 1e9 > r.ttft_bound_ns) AS at_stake,
        min(a.ended_at) AS first_seen_at, max(a.ended_at) AS last_seen_at
    FROM attempts AS a
    JOIN workload_rules AS r USING (workload)
    WHERE a.delivered AND a.outcome = 'ok' AND a.engine_seen AND r.ttft_bound_ns IS NOT NULL
    GROUP BY a.workload
)
SELECT
    CASE WHEN at_stake >= 0.05 * answers THEN 'medium' ELSE 'low' END AS severity,
    workload AS subject,
    format('No record says of {:,} of {:,} answer(s) of workload {} whether they were streamed. Of one that was not, the first token came '
        || 'with its end: {:,} ({:.1f} %) that pass gate ttft would fail it. Spans of callers and gateways say so: trace these too',
        unsaid, answers, workload, at_stake, 100 * at_stake / answers) AS message,
    at_stake AS affected,
    answers AS total,
    first_seen_at, last_seen_at
FROM answers
WHERE at_stake > 0 AND at_stake >= 0.01 * answers
