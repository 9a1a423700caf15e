-- description: Metrics that no dialect knows, each once, with the readings that were left out (docs/semantics.md#sources)
-- grain: metric
-- reads: source_ledger
-- kind: view
SELECT metric, sum(readings)::BIGINT AS readings, count(*) AS sources
FROM (
    SELECT unnest(map_keys(unknown)) AS metric, unnest(map_values(unknown)) AS readings
    FROM (
        SELECT json_transform(unknown_metrics, '"MAP(VARCHAR, BIGINT)"') AS unknown
        FROM source_ledger
        WHERE unknown_metrics <> '{}'
    )
)
GROUP BY metric
