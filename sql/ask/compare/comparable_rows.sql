-- description: Requests with the revision last deployed in their pool before they arrived, and costs that belong to no request: the rows that `goodput compare` divides into sides
-- grain: request_key; beside requests bucket, window_start, workload, model, pool, route, tenant and replica of `cost_ledger`
-- reads: cost_ledger, ops_events, requests
-- kind: view
WITH deployed AS (
    SELECT
        pool, occurred_at,
        -- of a package URL (CDEvents) its version
        max(CASE WHEN revision LIKE 'pkg:%@%' THEN regexp_extract(revision, '@([^@?#]+)', 1) ELSE revision END) AS model_revision
    FROM ops_events
    WHERE kind = 'deployment' AND pool IS NOT NULL AND revision IS NOT NULL
    GROUP BY pool, occurred_at
)
SELECT q.*, d.model_revision
FROM (
    FROM requests
    UNION ALL BY NAME
    SELECT
        workload, model, pool, route, tenant, replica, window_start AS arrived_at, window_start AS ended_at, bucket, usd AS cost_usd
    FROM cost_ledger
    WHERE request_key IS NULL AND usd IS NOT NULL
) AS q
ASOF LEFT JOIN deployed AS d ON d.pool = q.pool AND d.occurred_at <= q.arrived_at
