-- description: Files with lines of costs that could not be read: their money is in no number, and in no reconciliation
-- grain: subject
-- reads: cost_line_rows, quarantine, source_ledger
-- A file that was overwritten since is fixed, and so is one of which nothing counts any more because a later export replaced it.
WITH current AS (
    SELECT source_id, path
    FROM source_ledger
    QUALIFY row_number() OVER (PARTITION BY landing, path ORDER BY ingested_ns DESC, source_id DESC) = 1
)
SELECT
    'high' AS severity,
    c.path AS subject,
    format('{:,} line(s) of costs in {} could not be read, such as line {} ({}): what they charge is in no number, and not in '
            || '`goodput reconcile`. Correct them in the file, or the settings of its source; `goodput sources --problems` lists them',
        count(*), c.path, min(q.line), min_by(q.reason, (q.line, q.position, q.source_id))) AS message,
    count(*) AS affected
FROM quarantine AS q
JOIN current AS c USING (source_id)
WHERE q.table_name = 'cost_lines'
    AND c.source_id NOT IN (
        SELECT source_id FROM cost_line_rows
        WHERE records = duplicates AND unused NOT LIKE '%not_chosen%' AND unused NOT LIKE '%no_exchange_rate%'
    )
GROUP BY c.path
