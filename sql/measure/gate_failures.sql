-- description: How often each gate fails in each window and slice, and how often it is the only one to fail
-- grain: window_start, window_s, slice, workload, model, pool, route, gate
-- reads: slices, window_counts
WITH counted AS (
    SELECT
        c.window_s, c.start_s, s.slice,
        CASE WHEN s.by_workload THEN c.workload END AS workload,
        CASE WHEN s.by_model THEN c.model END AS model,
        CASE WHEN s.by_pool THEN c.pool END AS pool,
        CASE WHEN s.by_route THEN c.route END AS route,
        sum(COLUMNS('^(failed|gated|sole)_.*'))::BIGINT
    FROM window_counts AS c
    CROSS JOIN slices AS s
    GROUP BY ALL
),
unpivoted AS (
    SELECT
        window_s, start_s, slice, workload, model, pool, route,
        unnest([
            {gate: 'success', gated: gated_success, failing: failed_success, only_failing: sole_success},
            {gate: 'retries', gated: gated_retries, failing: failed_retries, only_failing: sole_retries},
            {gate: 'ttft', gated: gated_ttft, failing: failed_ttft, only_failing: sole_ttft},
            {gate: 'tpot', gated: gated_tpot, failing: failed_tpot, only_failing: sole_tpot},
            {gate: 'e2e', gated: gated_e2e, failing: failed_e2e, only_failing: sole_e2e},
            {gate: 'itl_p95', gated: gated_itl_p95, failing: failed_itl_p95, only_failing: sole_itl_p95},
            {gate: 'jitter', gated: gated_jitter, failing: failed_jitter, only_failing: sole_jitter},
            {gate: 'deadline', gated: gated_deadline, failing: failed_deadline, only_failing: sole_deadline},
            {gate: 'quality', gated: gated_quality, failing: failed_quality, only_failing: sole_quality}
        ], recursive := true)
    FROM counted
)
SELECT
    make_timestamptz(start_s * 1000000) AS window_start, window_s, slice, workload, model, pool, route,
    gate, gated, failing, only_failing,
    ratio(failing, gated) AS fail_ratio
FROM unpivoted
-- a gate that is set but was never measured gates no request, and may still be all that keeps one from being accepted
WHERE gated > 0 OR only_failing > 0
