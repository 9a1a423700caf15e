-- description: What matches records of several systems with each other, in the order in which one stands above another; none where one system alone recorded
-- grain: record_id
-- reads: match_options, mixed_hours, record_choices, record_halves, unique_records
-- A table, as it is read many times: a plan with as many copies of what makes unique records takes seconds and half a gigabyte.
SELECT
    record_id, dialect, layer, trace_id, span_id, parent_span_id, call_id, response_id, started_ns, ended_ns, outcome, http_status,
    coalesce(ended_ns, started_ns) AS over_ns,
    coalesce(covers_tries, false) AS covers_tries,
    layer_depth(layer) AS depth,
    scope_of(attributes, (SELECT within FROM match_options)) AS scope,
    -- which record stands above another: outer layers above inner ones, requests above tries, traced rows above untraced
    (depth, NOT coalesce(covers_tries, false), span_id IS NULL, dialect, record_id) AS standing
FROM unique_records
ANTI JOIN record_choices USING (record_id)
ANTI JOIN record_halves USING (record_id)
WHERE coalesce(ended_ns, started_ns) // 3600000000000 IN (FROM mixed_hours)
