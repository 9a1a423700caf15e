-- description: Attempts of the latest window that outlast max_request_lifetime_s
-- grain: one row at most
-- reads: attempts, latest_window, options
-- What an attempt costs is counted in the hour in which it ends and in hours before it no further back than that.
WITH lasted AS (
    SELECT a.ended_at, epoch_us(a.ended_at - a.started_at) / 1e6 AS lasted_s, o.max_request_lifetime_ns / 1e9 AS lifetime_s
    FROM attempts AS a
    CROSS JOIN options AS o
    JOIN latest_window AS w ON a.ended_at >= w.window_start AND a.ended_at < w.window_start + to_seconds(w.window_s)
)
SELECT
    'medium' AS severity,
    'attempts' AS subject,
    format('{:,} attempt(s) lasted up to {:.0f} s, longer than max_request_lifetime_s ({:.0f} s): what they cost may be counted in '
        || 'part only. Set that to more', count(*), max(lasted_s), any_value(lifetime_s)) AS message,
    count(*) AS affected,
    min(ended_at) AS first_seen_at,
    max(ended_at) AS last_seen_at
FROM lasted
WHERE lasted_s > lifetime_s
HAVING count(*) > 0
