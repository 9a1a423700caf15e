-- description: The requests that these name, whenever they were: how many, and by how much a label precedes the nearest or comes after it
-- grain: label_id
-- reads: attempts, unjoined_newest_labels
-- unit: before_ns, after_ns: nanoseconds from the label to the request's arrival, and from its end to the label
WITH named AS (
    SELECT n.label_id, n.labelled_ns, a.request_key, a.arrived_ns, a.ended_ns
    FROM unjoined_newest_labels AS n JOIN attempts AS a USING (trace_id)
    UNION ALL
    SELECT n.label_id, n.labelled_ns, a.request_key, a.arrived_ns, a.ended_ns
    FROM unjoined_newest_labels AS n JOIN attempts AS a USING (response_id)
    UNION ALL
    SELECT n.label_id, n.labelled_ns, a.request_key, a.arrived_ns, a.ended_ns
    FROM unjoined_newest_labels AS n JOIN attempts AS a USING (request_key)
)
SELECT
    label_id,
    count(DISTINCT request_key) AS requests,
    -- of several tries the first that is later, and the last that is earlier; a key may name another request in another hour
    min(arrived_ns - labelled_ns) FILTER (WHERE arrived_ns > labelled_ns) AS before_ns,
    min(labelled_ns - coalesce(ended_ns, arrived_ns)) FILTER (WHERE arrived_ns <= labelled_ns) AS after_ns
FROM named
GROUP BY label_id
