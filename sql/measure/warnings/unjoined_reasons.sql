-- description: Of each evaluator's newest labels those that judge nothing, and in words why
-- grain: evaluator
-- reads: evaluator_labels, options
SELECT
    e.* EXCLUDE (day_start, label_count), e.label_count AS labels,
    strftime(e.day_start AT TIME ZONE 'UTC', '%Y-%m-%d') AS labelled_on,
    array_to_string(list_filter([
        CASE WHEN e.before_request > 0 THEN format('{:,} are dated a median of {} before the request that they name',
            e.before_request, long_span(e.before_request_s)) END,
        CASE WHEN e.too_late > 0 THEN format('{:,} come a median of {} after the request that they name, later than `label_lateness_s` ({})',
            e.too_late, long_span(e.too_late_s), long_span(o.label_lateness_ns / 1e9)) END,
        CASE WHEN e.several_requests > 0 THEN format('{:,} do not say which of several requests is meant', e.several_requests) END,
        CASE WHEN e.not_collected > 0 THEN format('{:,} name no request that was collected near that time', e.not_collected) END
    ], lambda words: words IS NOT NULL), '; ') AS reasons,
    array_to_string(list_filter([
        CASE WHEN e.before_request > 0 THEN 'Correct when they are dated: a time zone, perhaps' END,
        CASE WHEN e.too_late > 0 THEN 'Raise `label_lateness_s` if labels take as long' END,
        CASE WHEN e.several_requests + e.not_collected > 0 THEN 'Compare what they name with the ids of requests' END
    ], lambda words: words IS NOT NULL), '. ') AS advice
FROM evaluator_labels AS e
CROSS JOIN options AS o
