-- description: How often each gate fails in each window and slice, and how often it is the only one to fail
-- grain: window_start, window_s, slice, slice_value, workload, model, pool, route, gate
-- reads: gate_counts, slices
WITH counted AS (
    SELECT
        c.window_s, c.start_s, s.slice, c.slice_value,
        CASE WHEN s.by_workload THEN c.workload END AS workload,
        CASE WHEN s.by_model THEN c.model END AS model,
        CASE WHEN s.by_pool THEN c.pool END AS pool,
        CASE WHEN s.by_route THEN c.route END AS route,
        c.gate,
        sum(c.gated)::BIGINT AS gated,
        sum(c.failing)::BIGINT AS failing,
        sum(c.only_failing)::BIGINT AS only_failing
    FROM gate_counts AS c
    JOIN slices AS s USING (cut)
    GROUP BY ALL
)
SELECT
    make_timestamptz(start_s * 1000000) AS window_start, * EXCLUDE (start_s),
    ratio(failing, gated) AS fail_ratio
FROM counted
