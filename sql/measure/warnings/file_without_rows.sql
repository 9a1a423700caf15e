-- description: Source files of which no row counts, grouped by what read them and by the rules that left their rows out
-- grain: subject
-- reads: source_ledger
WITH left_out AS (
    SELECT
        path, landing, reader, rows_read, rows_duplicate, rows_quarantined, first_event_ns, last_event_ns,
        json_transform(ignored, '"MAP(VARCHAR, BIGINT)"') AS rules
    FROM source_ledger
    WHERE status = 'read' AND rows_read > 0
),
barren AS (
    SELECT
        *,
        array_to_string(list_sort(list_concat(
            map_keys(rules), CASE WHEN rows_quarantined > 0 THEN ['quarantined'] ELSE []::VARCHAR[] END)), ', ') AS why
    FROM left_out
    WHERE rows_read = rows_duplicate + rows_quarantined + coalesce(list_sum(map_values(rules)), 0)
        AND rows_duplicate < rows_read
)
SELECT
    CASE WHEN why = 'span_is_no_request' THEN 'low' ELSE 'medium' END AS severity,
    format('{}: {}', reader, why) AS subject,
    format('No row of {} file(s) counts, such as {}: {:,} row(s) were left out ({}). `goodput sources` counts them by file; '
            || 'docs/connect.md shows how to declare what no dialect reads',
        count(*), min(path), sum(rows_read)::BIGINT, why) AS message,
    count(*) AS affected,
    (SELECT count(*) FROM source_ledger) AS total
FROM barren
GROUP BY reader, why
