-- description: The requests of the two sides that `goodput compare` sets against each other, with what it needs of them
-- grain: request
-- unit: cell: parts of the comparison in which label rates may differ
-- reads: goodput, side_rows
WITH placed AS (
    SELECT
        side,
        coalesce(workload, 'unknown') AS workload,
        request_key,
        session_id,
        epoch_us(ended_at) // 1000000 // base_s * base_s AS start_s,
        base_s,
        {model: model, pool: pool, route: route, part_s: window_part(epoch_us(ended_at) // 1000000, span_s)} AS cell,
        pass_success,
        verdict = 'accepted' AS is_accepted,
        needs_label,
        CASE WHEN needs_label THEN pass_quality END AS passed,
        CASE WHEN pass_success THEN ttft_s END AS ttft_s,
        CASE WHEN pass_success THEN tpot_s END AS tpot_s,
        CASE WHEN pass_success THEN e2e_s END AS e2e_s,
        input_tokens,
        output_tokens,
        cost_usd
    FROM side_rows
    CROSS JOIN (SELECT min(window_s) AS base_s FROM goodput)
    CROSS JOIN (
        SELECT greatest(300, epoch(max(ended_at) - min(ended_at))::BIGINT) AS span_s
        FROM side_rows
        WHERE verdict <> 'in_flight' AND side IS NOT NULL
    )
    WHERE verdict <> 'in_flight' AND side IS NOT NULL
),
timed AS (
    SELECT
        *,
        labels_tell_times_apart(
            count(passed) OVER of_workload, count(DISTINCT CASE WHEN needs_label THEN cell END) OVER of_workload) AS by_time
    FROM placed
    WINDOW of_workload AS (PARTITION BY side, workload)
)
SELECT
    * EXCLUDE (by_time)
        REPLACE ({model: cell.model, pool: cell.pool, route: cell.route, part_s: CASE WHEN by_time THEN cell.part_s END} AS cell)
FROM timed
