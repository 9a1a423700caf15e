-- description: How many attempts that ended in each step took so long, by where they were served and what their cache found
-- grain: step_start_s, replica, pool, model, is_hit, quarter, metric, units
-- reads: ended_attempts, large_partition, longest_step
-- Of a partition that is not large every value is held instead.
-- unit: units: of latency_unit_s, to the nearest: what is counted so is off by half of one at most (docs/semantics.md#percentiles)
WITH timed AS (
    SELECT
        ended_s // step_s * step_s AS step_start_s, replica, pool, model, is_hit, quarter,
        latency_units(ttft_s, 'ttft') AS ttft,
        latency_units(tpot_s, 'tpot') AS tpot,
        latency_units(queue_s, 'queue') AS queue
    FROM ended_attempts
    CROSS JOIN longest_step
    CROSS JOIN large_partition
    WHERE is_large
)
SELECT *, count(*) AS attempts
FROM timed UNPIVOT (units FOR metric IN (ttft, tpot, queue))
GROUP BY ALL
