-- description: How far telemetry, labels and bills reach, and until when windows are final (docs/semantics.md#late-and-revised)
-- grain: one row at most
-- reads: cost_records, observed, watermark_options, workload_rules
WITH reach AS (
    SELECT
        o.observed_until_ns,
        o.observed_until_ns - p.max_request_lifetime_ns AS requests_ns,
        p.label_lateness_ns,
        -- a session may go on for so long after the last of its requests that ended
        p.max_session_ns
    FROM observed AS o
    CROSS JOIN watermark_options AS p
    WHERE o.observed_until_ns > 0
),
rules AS (
    SELECT coalesce(bool_or(has_quality), false) AS has_quality, coalesce(bool_or(unit = 'session'), false) AS by_session
    FROM workload_rules
),
billed AS (
    SELECT max(period_end) AS billed_until_at FROM cost_records WHERE basis = 'billing'
)
SELECT
    at_utc(observed_until_ns) AS observed_until_at,
    at_utc(requests_ns) AS requests_final_until_at,
    CASE WHEN by_session THEN at_utc(requests_ns - max_session_ns) END AS sessions_final_until_at,
    CASE WHEN has_quality THEN at_utc(observed_until_ns - label_lateness_ns) END AS labels_final_until_at,
    least(requests_final_until_at, sessions_final_until_at, labels_final_until_at) AS final_until_at,
    billed_until_at
FROM reach
CROSS JOIN rules
CROSS JOIN billed
