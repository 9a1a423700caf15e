-- description: Attempts of the latest window that outlast max_request_lifetime_s
-- grain: one row at most
-- reads: attempts, latest_window, options
-- What an attempt costs is counted in the hour in which it ends and in hours before it no further back than that.
WITH shown AS (
    SELECT min(window_start) AS from_at, max(window_start + to_seconds(window_s)) AS until_at FROM latest_window
),
lasted AS ( -- bounds as values: joined, they would be compared with every attempt of the day pair by pair
    SELECT
        ended_at, epoch_us(ended_at - started_at) / 1e6 AS lasted_s,
        (SELECT max_request_lifetime_ns / 1e9 FROM options) AS lifetime_s
    FROM attempts
    WHERE ended_at >= (SELECT from_at FROM shown) AND ended_at < (SELECT until_at FROM shown)
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
