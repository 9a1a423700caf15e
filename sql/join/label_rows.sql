-- description: Label records of each source in each hour, and how many of them another source had given too
-- grain: source_id, epoch_hour
-- reads: label_records
SELECT
    source_id,
    labelled_ns // 3600000000000 AS epoch_hour,
    count(*) AS records,
    count(*) - count_if(is_first) AS duplicates
FROM (
    SELECT source_id, labelled_ns, row_number() OVER (PARTITION BY record_id ORDER BY source_id) = 1 AS is_first
    FROM label_records
)
GROUP BY ALL
