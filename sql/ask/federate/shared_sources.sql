-- description: Warning: files that several lakes have read, whose requests and money count in each of them
-- grain: subject
-- reads: source_ledger
WITH shared AS (
    SELECT content_hash, min(path) AS path
    FROM source_ledger
    WHERE status = 'read' AND rows_read > 0
    GROUP BY content_hash
    HAVING count(DISTINCT lake) > 1
)
SELECT
    'source_in_several_lakes' AS kind, 'high' AS severity, min(path) AS subject,
    format('{:,} file(s) were read by several of the lakes, such as {}: what they hold counts once in each, and several times in '
            || 'federated_goodput. Prices and names do no harm; requests and bills do: let each lake read its own', count(*), min(path)) AS message,
    count(*) AS affected, (SELECT count(DISTINCT content_hash) FROM source_ledger WHERE status = 'read') AS total
FROM shared
HAVING count(*) > 0
