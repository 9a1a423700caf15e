-- description: Source files that were refused as a whole, grouped by what read them and by the reason: nothing of them is in any number, or no more than an earlier reading gave
-- grain: subject
-- reads: source_ledger
SELECT
    'high' AS severity,
    format('{}: {}', reader, reason) AS subject,
    format('{}, such as {}: refused, {}. `goodput sources --problems` lists them',
        CASE WHEN reason LIKE '%; the rows of an earlier reading stay in use'
            THEN format('{:,} file(s) are in numbers only as they were read before', count(*))
            ELSE format('Nothing of {:,} file(s) is in any number', count(*)) END,
        min(path), reason) AS message,
    count(*) AS affected
FROM source_ledger
WHERE status = 'refused'
GROUP BY reader, reason
