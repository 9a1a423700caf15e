-- description: Serving records dated later than telemetry can have been observed
-- grain: one row at most
-- reads: observed, serving_records
SELECT
    'high' AS severity,
    'records' AS subject,
    format('{:,} serving record(s) are dated ahead of the time at which they were read, up to {} UTC: their windows are no last day, and '
        || 'nothing ages by them. Correct the clock or the unit of the time ({})', count(*),
        minute_utc(at_utc(max(coalesce(s.ended_ns, s.started_ns)))), some_of(list(DISTINCT s.dialect ORDER BY s.dialect))) AS message,
    count(*) AS affected,
    at_utc(min(coalesce(s.ended_ns, s.started_ns))) AS first_seen_at,
    at_utc(max(coalesce(s.ended_ns, s.started_ns))) AS last_seen_at
FROM serving_records AS s
CROSS JOIN observed AS o
WHERE coalesce(s.ended_ns, s.started_ns) > o.observed_until_ns
HAVING count(*) > 0
