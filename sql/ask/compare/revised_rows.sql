-- description: What is compared with the revision last deployed where it was served, before it arrived (docs/semantics.md#comparison)
-- grain: as `comparable_rows`
-- reads: comparable_rows, deployed_revisions
-- kind: view
SELECT
    q.*,
    -- the latest that concerns it; of one moment the one that says most exactly what
    CASE
        WHEN r.from_at >= greatest(coalesce(p.from_at, r.from_at), coalesce(f.from_at, r.from_at)) THEN r.revision
        WHEN p.from_at >= coalesce(f.from_at, p.from_at) THEN p.revision
        ELSE f.revision
    END AS model_revision
FROM comparable_rows AS q
ASOF LEFT JOIN (FROM deployed_revisions WHERE replica IS NOT NULL) AS r ON r.replica = q.replica AND r.from_at <= q.arrived_at
ASOF LEFT JOIN (FROM deployed_revisions WHERE pool IS NOT NULL) AS p ON p.pool = q.pool AND p.from_at <= q.arrived_at
ASOF LEFT JOIN (FROM deployed_revisions WHERE pool IS NULL AND replica IS NULL) AS f ON f.from_at <= q.arrived_at
