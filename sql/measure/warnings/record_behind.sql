-- description: Serving records dated a month or more before all others, where they are at most a hundredth: a wrong clock or unit
-- grain: one row at most
-- reads: record_hours
WITH hours AS (
    SELECT
        epoch_hour,
        lag(epoch_hour) OVER in_order AS before_hour,
        min(epoch_hour) OVER () AS first_hour,
        sum(records) OVER in_order - records AS before,
        sum(records) OVER () AS total
    FROM record_hours
    WINDOW in_order AS (ORDER BY epoch_hour)
)
SELECT
    'high' AS severity,
    'records' AS subject,
    format('{:,} serving record(s) are dated {:,} days and more before all others, from {} UTC on: telemetry counts as observed since then, so '
        || 'the first day of the others does not count as partial, and bills of the days between are in windows. Correct the clock '
        || 'or the unit of the time: `from attempts order by started_at limit 5`',
        before::BIGINT, (epoch_hour - before_hour) // 24, minute_utc(make_timestamptz(first_hour * 3600000000))) AS message,
    before AS affected,
    total,
    make_timestamptz(first_hour * 3600000000) AS first_seen_at,
    make_timestamptz(before_hour * 3600000000) AS last_seen_at
FROM hours
WHERE epoch_hour - before_hour > 30 * 24 AND before * 100 <= total
ORDER BY epoch_hour DESC
LIMIT 1
