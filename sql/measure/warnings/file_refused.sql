-- description: Source files that were refused as a whole, grouped by what read them and by the reason: nothing of them is in any number
-- grain: subject
-- reads: source_ledger
SELECT
    'high' AS severity,
    format('{}: {}', reader, reason) AS subject,
    format('Nothing of {:,} file(s) is in any number, such as {}: refused, {}. `goodput sources --problems` lists them', count(*), min(path), reason)
        AS message,
    count(*) AS affected
FROM source_ledger
WHERE status = 'refused'
GROUP BY reader, reason
