-- description: Requests, and costs that belong to no request: the rows that `goodput compare` divides into sides
-- grain: request_key; beside requests bucket, arrived_at, workload, model, pool, route, tenant and replica of `cost_ledger`
-- reads: cost_ledger, requests, side_cuts
-- kind: view
-- unit: cost_usd of a request is NULL where the price of any of its work is not known; what was refused before any work cost nothing
-- unit: is_cut: part of a step of the ledger in which a bound lies, with as much of its money as it is of its time
WITH unpriced AS (
    SELECT DISTINCT request_key FROM cost_ledger WHERE usd IS NULL AND (gpu_s > 0 OR tokens > 0) AND request_key IS NOT NULL
),
steps AS (
    SELECT workload, model, pool, route, tenant, replica, bucket, usd, window_start AS from_at, window_start + to_seconds(window_s) AS until_at
    FROM cost_ledger
    WHERE request_key IS NULL AND usd IS NOT NULL
),
whose AS (
    SELECT DISTINCT from_at, until_at, pool, replica FROM steps
),
cuts AS (
    SELECT w.from_at, w.until_at, w.pool, w.replica, list(DISTINCT c.at ORDER BY c.at) AS cuts
    FROM whose AS w
    JOIN side_cuts AS c
        ON c.at > w.from_at AND c.at < w.until_at
        AND (c.replica = w.replica OR c.replica IS NULL AND (c.pool IS NULL OR c.pool = w.pool))
    GROUP BY ALL
),
parts AS (
    SELECT
        s.*, c.cuts IS NOT NULL AS is_cut,
        unnest(list_prepend(s.from_at, coalesce(c.cuts, []))) AS part_from_at,
        unnest(list_append(coalesce(c.cuts, []), s.until_at)) AS part_until_at
    FROM steps AS s
    LEFT JOIN cuts AS c
        ON c.from_at = s.from_at AND c.until_at = s.until_at
        AND c.pool IS NOT DISTINCT FROM s.pool AND c.replica IS NOT DISTINCT FROM s.replica
)
SELECT
    q.* REPLACE (
        CASE
            WHEN u.request_key IS NOT NULL THEN NULL
            WHEN q.replica IS NULL AND q.outcome <> 'ok' AND coalesce(q.input_tokens, 0) + coalesce(q.output_tokens, 0) = 0
                THEN coalesce(q.cost_usd, 0)
            ELSE q.cost_usd
        END AS cost_usd)
FROM requests AS q
LEFT JOIN unpriced AS u USING (request_key)
UNION ALL BY NAME
SELECT
    workload, model, pool, route, tenant, replica, part_from_at AS arrived_at, part_from_at AS ended_at, bucket, is_cut,
    usd * ((epoch_us(part_until_at) - epoch_us(part_from_at)) / (epoch_us(until_at) - epoch_us(from_at))) AS cost_usd
FROM parts
