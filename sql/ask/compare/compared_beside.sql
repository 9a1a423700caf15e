-- description: Money that no request had itself, by the side that carries it: idle time, overhead, unattributed (docs/semantics.md#comparison)
-- grain: side, start_s
-- unit: cut_usd: the part of it that is of steps of the ledger in which a bound lies, divided by time
-- reads: cost_ledger, goodput, side_rows
-- A row whose own columns decide its side (`is_known`) is carried within that side, any other by whom its pool served in all of
-- the time that is compared: idle time by GPU seconds, overhead by requests. What nobody carries is its own side's.
WITH served AS (
    SELECT r.side, r.own_side, l.pool, sum_steady(l.gpu_s) AS weight
    FROM side_rows AS r
    JOIN cost_ledger AS l USING (request_key)
    WHERE l.gpu_s > 0
    GROUP BY ALL
),
ended AS (
    SELECT side, own_side, workload, model, pool, route, tenant, count(*)::DOUBLE AS weight
    FROM side_rows
    WHERE bucket IS NULL AND verdict <> 'in_flight'
    GROUP BY ALL
),
beside AS (
    SELECT
        epoch_us(ended_at) // 1000000 // base_s * base_s AS start_s,
        bucket, coalesce(is_cut, false) AS is_cut, side, own_side, is_known, workload, model, pool, route, tenant,
        sum_usd(cost_usd) AS usd
    FROM side_rows
    CROSS JOIN (SELECT min(window_s) AS base_s FROM goodput)
    WHERE bucket IS NOT NULL
    GROUP BY ALL
),
scopes AS (
    SELECT DISTINCT bucket, own_side, is_known, workload, model, pool, route, tenant FROM beside
),
weighed AS (
    SELECT s.*, c.side AS carrier, c.weight
    FROM scopes AS s
    JOIN served AS c ON c.pool IS NOT DISTINCT FROM s.pool
    WHERE s.bucket = 'idle' AND (NOT s.is_known OR s.own_side IS NOT DISTINCT FROM c.own_side)
    UNION ALL
    SELECT s.*, c.side, c.weight
    FROM scopes AS s
    JOIN ended AS c
        ON (s.workload IS NULL OR s.workload = c.workload) AND (s.model IS NULL OR s.model = c.model)
        AND (s.pool IS NULL OR s.pool = c.pool) AND (s.route IS NULL OR s.route = c.route)
        AND (s.tenant IS NULL OR s.tenant = c.tenant)
    WHERE s.bucket = 'overhead' AND (NOT s.is_known OR s.own_side IS NOT DISTINCT FROM c.own_side)
),
summed AS (
    SELECT * EXCLUDE (weight), sum(weight::DECIMAL(38, 12)) AS weight FROM weighed GROUP BY ALL
),
parts AS (
    SELECT
        *,
        weight::DOUBLE / sum(weight) OVER (PARTITION BY bucket, own_side, is_known, workload, model, pool, route, tenant)::DOUBLE
            AS part
    FROM summed
),
carried AS (
    SELECT
        CASE WHEN p.part IS NULL THEN b.side ELSE p.carrier END AS side,
        b.start_s, b.bucket, b.is_cut, b.usd * coalesce(p.part, 1) AS usd
    FROM beside AS b
    LEFT JOIN parts AS p
        ON p.bucket = b.bucket AND p.own_side IS NOT DISTINCT FROM b.own_side AND p.is_known = b.is_known
        AND p.workload IS NOT DISTINCT FROM b.workload AND p.model IS NOT DISTINCT FROM b.model
        AND p.pool IS NOT DISTINCT FROM b.pool AND p.route IS NOT DISTINCT FROM b.route AND p.tenant IS NOT DISTINCT FROM b.tenant
)
SELECT
    side, start_s,
    coalesce(sum_usd(CASE WHEN bucket = 'idle' THEN usd END), 0) AS idle_usd,
    coalesce(sum_usd(CASE WHEN bucket = 'overhead' THEN usd END), 0) AS overhead_usd,
    coalesce(sum_usd(CASE WHEN bucket = 'unattributed' THEN usd END), 0) AS unattributed_usd,
    coalesce(sum_usd(CASE WHEN is_cut THEN usd END), 0) AS cut_usd
FROM carried
WHERE side IS NOT NULL
GROUP BY side, start_s
