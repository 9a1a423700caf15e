-- description: Metrics that no dialect knows, all in one row
-- grain: subject
-- reads: unknown_metrics
SELECT
    'low' AS severity,
    'metrics' AS subject,
    format('{} metric(s) are known to no dialect, and their readings left out: {}. Relation unknown_metrics has them all',
        count(*), some_of(list(CASE metric WHEN '' THEN '(an expression)' ELSE metric END ORDER BY readings DESC, metric))) AS message,
    count(*) AS affected
FROM unknown_metrics
HAVING count(*) > 0
