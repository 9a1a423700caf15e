-- description: Files of which 1 % of the rows or more are in quarantine, by reader and table: what these would tell is in no number, and no hour shows that it is missing
-- grain: subject
-- reads: quarantine, source_ledger
-- A file that was overwritten since is fixed. Lines of costs have a kind of their own, cost_line_quarantined.
WITH current AS (
    SELECT source_id, path, reader, rows_read
    FROM source_ledger
    QUALIFY row_number() OVER (PARTITION BY landing, path ORDER BY ingested_ns DESC, source_id DESC) = 1
),
lost AS (
    SELECT c.source_id, c.path, c.reader, q.table_name, c.rows_read, count(*) AS rows_lost, min_by(q.reason, (q.line, q.position)) AS reason
    FROM quarantine AS q
    JOIN current AS c USING (source_id)
    WHERE q.table_name <> 'cost_lines'
    GROUP BY c.source_id, c.path, c.reader, q.table_name, c.rows_read -- two landing paths may have files of one name
)
SELECT
    'high' AS severity,
    format('{}: {}', reader, table_name) AS subject,
    format('{:,} of {:,} row(s) of {:,} file(s), such as {} ({}), are in quarantine: no number has them, and their hours do not look incomplete. '
            || 'Correct them in the file, or the settings of its source; `goodput sources --problems` lists them',
        sum(rows_lost)::BIGINT, sum(rows_read)::BIGINT, count(*), min(path), min_by(reason, (path, source_id))) AS message,
    sum(rows_lost)::BIGINT AS affected,
    sum(rows_read)::BIGINT AS total
FROM lost
WHERE rows_lost >= 0.01 * rows_read
GROUP BY reader, table_name
