-- description: Sample records of each source in each hour, and how many of them count in no series
-- grain: source_id, epoch_hour
-- reads: replica_samples, sample_records
SELECT
    r.source_id,
    r.sampled_ns // 3600000000000 AS epoch_hour,
    count(*) AS records,
    count(*) - count(s.series_id) AS duplicates
FROM sample_records AS r
LEFT JOIN replica_samples AS s
    ON s.series_id = r.series_id AND s.sampled_ns = r.sampled_ns AND s.source = r.source_id
GROUP BY ALL
