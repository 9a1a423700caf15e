-- description: Requests with the revision last deployed where they were served before they arrived, and costs that belong to no request: the rows that `goodput compare` divides into sides
-- grain: request_key; beside requests bucket, window_start, workload, model, pool, route, tenant and replica of `cost_ledger`
-- reads: cost_ledger, deployed_revisions, requests
-- kind: view
-- unit: cost_usd of a request is NULL where the price of any of its work is not known; what was refused before any work cost nothing
WITH unpriced AS (
    SELECT DISTINCT request_key FROM cost_ledger WHERE usd IS NULL AND (gpu_s > 0 OR tokens > 0) AND request_key IS NOT NULL
),
priced AS (
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
)
SELECT
    q.*,
    -- the latest that concerns it; of one moment the one that says most exactly what
    CASE
        WHEN r.from_at >= greatest(coalesce(p.from_at, r.from_at), coalesce(f.from_at, r.from_at)) THEN r.revision
        WHEN p.from_at >= coalesce(f.from_at, p.from_at) THEN p.revision
        ELSE f.revision
    END AS model_revision
FROM (
    FROM priced
    UNION ALL BY NAME
    SELECT
        workload, model, pool, route, tenant, replica, window_start AS arrived_at, window_start AS ended_at, bucket, usd AS cost_usd
    FROM cost_ledger
    WHERE request_key IS NULL AND usd IS NOT NULL
) AS q
ASOF LEFT JOIN (FROM deployed_revisions WHERE replica IS NOT NULL) AS r ON r.replica = q.replica AND r.from_at <= q.arrived_at
ASOF LEFT JOIN (FROM deployed_revisions WHERE pool IS NOT NULL) AS p ON p.pool = q.pool AND p.from_at <= q.arrived_at
ASOF LEFT JOIN (FROM deployed_revisions WHERE pool IS NULL AND replica IS NULL) AS f ON f.from_at <= q.arrived_at
