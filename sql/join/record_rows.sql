-- description: Ops events and prices of each source, and how many of them another source had given too
-- grain: source_id
-- reads: event_records, price_lines
SELECT source_id, NULL::BIGINT AS epoch_hour, count(*) AS records, count(*) - count_if(is_first) AS duplicates
FROM (
    SELECT source_id, row_number() OVER (PARTITION BY record_id ORDER BY source_id) = 1 AS is_first
    FROM (
        SELECT source_id, record_id FROM event_records
        UNION ALL
        SELECT source_id, record_id FROM price_lines
    )
)
GROUP BY source_id
