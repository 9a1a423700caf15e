-- description: How labels and passes go together within sessions, by slice and workload: sums over pairs of requests of one session
-- grain: slice, window_s, start_s, k_workload, k_model, k_pool, k_route, workload
-- reads: label_sessions, slices
-- unit: pairs are ordered; both_*: of the two of a labelled pair, none, one or both of which passed add up to the residuals' product
WITH sessions AS (
    SELECT
        s.slice, window_s, start_s,
        CASE WHEN s.by_workload THEN c.workload END AS k_workload,
        CASE WHEN s.by_model THEN c.model END AS k_model,
        CASE WHEN s.by_pool THEN c.pool END AS k_pool,
        CASE WHEN s.by_route THEN c.route END AS k_route,
        c.workload, session_hash,
        sum(need)::BIGINT AS need, sum(labelled)::BIGINT AS labelled, sum(passed)::BIGINT AS passed
    FROM label_sessions AS c
    CROSS JOIN slices AS s
    GROUP BY ALL
    HAVING sum(need) > 1
)
SELECT
    slice, window_s, start_s, k_workload, k_model, k_pool, k_route, workload,
    sum(need * (need - 1))::BIGINT AS pairs,
    sum(labelled * (labelled - 1))::BIGINT AS labelled_pairs,
    sum(passed * (labelled - 1))::BIGINT AS passed_pairs,
    sum(passed * (passed - 1))::BIGINT AS both_passed_pairs,
    -- labelled requests beyond the first of their session
    sum(greatest(labelled - 1, 0))::BIGINT AS followers
FROM sessions
GROUP BY ALL
