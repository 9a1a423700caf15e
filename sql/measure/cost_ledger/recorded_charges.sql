-- description: What the records of each billing source charge for each resource in a step
-- grain: level, replica, pool, model, step_s, rank, dialect, basis, is_named
-- reads: cost_pieces
-- unit: is_named: for a request or a session
SELECT
    c.level, c.replica, c.pool, c.model, c.step_s, c.rank, c.dialect, c.basis, c.is_best,
    coalesce(c.request_key, c.session_id) IS NOT NULL AS is_named,
    c.is_pool_known,
    sum_usd(c.usd) AS usd
FROM cost_pieces AS c
GROUP BY ALL
