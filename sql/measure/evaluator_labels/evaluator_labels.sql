-- description: The newest labels of each evaluator, how many judge nothing, and why (docs/semantics.md#labels)
-- grain: evaluator
-- reads: named_requests, newest_labels, options, unjoined_newest_labels
WITH reasons AS (
    SELECT
        l.evaluator, l.label_id, n.before_ns, n.after_ns,
        CASE
            WHEN n.requests IS NULL THEN 'not_collected'
            WHEN n.requests > 1 THEN 'several_requests'
            WHEN n.before_ns > o.max_request_lifetime_ns AND n.after_ns IS NULL THEN 'before'
            WHEN n.after_ns > o.label_lateness_ns AND n.before_ns IS NULL THEN 'after'
            -- two that have the same key
            ELSE 'several_requests'
        END AS reason
    FROM unjoined_newest_labels AS l
    CROSS JOIN options AS o
    LEFT JOIN named_requests AS n USING (label_id)
)
SELECT
    l.evaluator,
    make_timestamptz(any_value(l.day) * 86400000000) AS day_start,
    count(*) AS label_count,
    count(*) FILTER (WHERE NOT l.is_joined) AS unjoined,
    count(*) FILTER (WHERE r.reason = 'not_collected') AS not_collected,
    count(*) FILTER (WHERE r.reason = 'several_requests') AS several_requests,
    count(*) FILTER (WHERE r.reason = 'before') AS before_request,
    median(r.before_ns / 1e9) FILTER (WHERE r.reason = 'before') AS before_request_s,
    count(*) FILTER (WHERE r.reason = 'after') AS too_late,
    median(r.after_ns / 1e9) FILTER (WHERE r.reason = 'after') AS too_late_s,
    make_timestamptz(min(l.labelled_ns) // 1000) AS first_labelled_at,
    make_timestamptz(max(l.labelled_ns) // 1000) AS last_labelled_at
FROM newest_labels AS l
LEFT JOIN reasons AS r USING (label_id)
GROUP BY l.evaluator
