-- description: Hours with records that something links to rows beyond the hours that an hour is made from (docs/semantics.md#how-far-an-hour-sees)
-- grain: epoch_hour
-- reads: options, serving_records, shard_components, span_links
WITH placed AS (
    SELECT
        record_place(trace_id, record_id) AS place, coalesce(ended_ns, started_ns) // 3600000000000 AS epoch_hour, true AS is_record
    FROM serving_records
    UNION ALL
    SELECT trace_place(trace_id), ended_ns // 3600000000000, false FROM span_links
),
hours AS (
    SELECT coalesce(c.component, p.place) AS component, epoch_hour, bool_or(is_record) AS has_records
    FROM placed AS p
    LEFT JOIN shard_components AS c USING (place)
    GROUP BY ALL
),
far AS (
    SELECT component, min(epoch_hour) AS first_hour, max(epoch_hour) AS last_hour, any_value(ceil(max_request_lifetime_ns / 3600000000000)) AS reach_h
    FROM hours
    CROSS JOIN options
    GROUP BY component
    HAVING last_hour - first_hour > reach_h
)
SELECT DISTINCT epoch_hour
FROM hours
JOIN far USING (component)
WHERE has_records AND (first_hour < epoch_hour - reach_h OR last_hour > epoch_hour + reach_h)
