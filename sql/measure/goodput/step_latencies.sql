-- description: How many succeeded requests took so long, in each step by the finest dimensions, and by workload and value of each slice by tenant or attribute
-- grain: step_start_s, cut, slice_value, workload, model, pool, route, metric, units
-- reads: cut_requests, large_partition, measured_range, window_options
-- Of a partition that is not large every value is held instead.
-- unit: units: of latency_unit_s, to the nearest: what is counted so is off by half of one at most (docs/semantics.md#percentiles)
WITH timed AS (
    SELECT
        ended_s // step_s * step_s AS step_start_s, cut, slice_value, workload, model, pool, route,
        latency_units(ttft_s, 'ttft') AS ttft,
        latency_units(tpot_s, 'tpot') AS tpot,
        latency_units(e2e_s, 'e2e') AS e2e,
        latency_units(queue_s, 'queue') AS queue
    FROM cut_requests
    CROSS JOIN measured_range
    CROSS JOIN window_options
    CROSS JOIN large_partition
    WHERE is_large AND ended_s >= from_s AND ended_s < until_s
)
SELECT *, count(*) AS requests
FROM timed UNPIVOT (units FOR metric IN (ttft, tpot, e2e, queue))
GROUP BY ALL
