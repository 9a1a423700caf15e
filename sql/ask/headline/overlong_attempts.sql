-- description: Attempts of the latest published day (else the longest window) that outlast max_request_lifetime_s, in one line
-- grain: one row at most
-- reads: attempts, goodput
-- What an attempt costs is counted in the hour in which it ends and in hours before it no further back than that.
SELECT
    format('{} attempt(s) lasted up to {:.0f} s, longer than max_request_lifetime_s ({:.0f} s): what they cost may be counted '
        || 'in part only; set that to more', count(*), max(lasted_s), getvariable('max_request_lifetime_s')) AS line
FROM (
    SELECT epoch_us(ended_at - started_at) / 1e6 AS lasted_s
    FROM attempts
    WHERE ended_at >= (SELECT max(window_start) FROM goodput WHERE window_s = (SELECT max(window_s) FROM goodput))
)
WHERE lasted_s > getvariable('max_request_lifetime_s')
HAVING count(*) > 0
