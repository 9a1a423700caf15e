-- description: Requests that were not seen to end, by emitter, and when they will count as timeouts
-- grain: subject
-- reads: attempts, observed, options, requests
WITH waiting AS (
    SELECT a.dialect, q.arrived_at
    FROM requests AS q
    JOIN attempts AS a ON a.attempt_id = q.delivering_attempt_id
    CROSS JOIN observed AS o
    WHERE q.verdict = 'in_flight' AND epoch_us(q.arrived_at) * 1000 <= o.observed_until_ns
)
SELECT
    'low' AS severity,
    w.dialect AS subject,
    format('{:,} request(s) of emitter {} were not seen to end and are in no window yet. Those that do not end become failed '
            || '(timeout) once telemetry reaches {} to {} UTC. If more of them have ended than it shows, its ends are lost',
        count(*), w.dialect,
        minute_utc(min(w.arrived_at) + to_microseconds(any_value(o.max_request_lifetime_ns) // 1000)),
        minute_utc(max(w.arrived_at) + to_microseconds(any_value(o.max_request_lifetime_ns) // 1000))) AS message,
    count(*) AS affected,
    min(w.arrived_at) AS first_seen_at,
    max(w.arrived_at) AS last_seen_at
FROM waiting AS w
CROSS JOIN options AS o
GROUP BY w.dialect
