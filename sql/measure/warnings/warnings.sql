-- description: What in settings or telemetry makes published numbers wrong or silent, a row for each subject; one file gives each kind (docs/semantics.md#warnings)
-- grain: kind, subject
-- reads: attempt_overlong, bill_apart, bill_displaced, bill_shrunk, bill_undated, bound_out_of_proportion, call_rewritten, cost_line_quarantined, cost_line_unused, cost_repeated, cost_unattributed, evaluator_never_judged, event_without_telemetry, file_cut_short, file_refused, file_without_rows, gate_never_measured, judges_depend, label_contradicted, label_uneven, label_unjoined, label_without_gate, metric_unknown, path_group_unused, pool_unknown, quality_never_failed, quality_never_passed, rate_displaced, rate_unmatched, rate_unsampled, record_ahead, record_behind, record_corrected, record_quarantined, replica_apart, replica_crowded, replica_doubled, replica_name_shared, request_answered_twice, request_counted_twice, request_in_flight, request_unevaluable, request_unobserved, request_without_workload, score_scale_mismatched, series_unwatched, setting_unmatched, slice_crowded, slice_unknown, streaming_unknown, value_absurd, window_far_apart, work_without_price, workload_without_requests
SELECT
    kind, severity, subject, message,
    affected::BIGINT AS affected, total::BIGINT AS total,
    amount_usd::DOUBLE AS amount_usd,
    first_seen_at, last_seen_at
FROM (
    SELECT 'attempt_overlong' AS kind, * FROM attempt_overlong
    UNION ALL BY NAME
    SELECT 'bill_apart' AS kind, * FROM bill_apart
    UNION ALL BY NAME
    SELECT 'bill_displaced' AS kind, * FROM bill_displaced
    UNION ALL BY NAME
    SELECT 'bill_shrunk' AS kind, * FROM bill_shrunk
    UNION ALL BY NAME
    SELECT 'bill_undated' AS kind, * FROM bill_undated
    UNION ALL BY NAME
    SELECT 'bound_out_of_proportion' AS kind, * FROM bound_out_of_proportion
    UNION ALL BY NAME
    SELECT 'call_rewritten' AS kind, * FROM call_rewritten
    UNION ALL BY NAME
    SELECT 'cost_line_quarantined' AS kind, * FROM cost_line_quarantined
    UNION ALL BY NAME
    SELECT 'cost_line_unused' AS kind, * FROM cost_line_unused
    UNION ALL BY NAME
    SELECT 'cost_repeated' AS kind, * FROM cost_repeated
    UNION ALL BY NAME
    SELECT 'cost_unattributed' AS kind, * FROM cost_unattributed
    UNION ALL BY NAME
    SELECT 'evaluator_never_judged' AS kind, * FROM evaluator_never_judged
    UNION ALL BY NAME
    SELECT 'event_without_telemetry' AS kind, * FROM event_without_telemetry
    UNION ALL BY NAME
    SELECT 'file_cut_short' AS kind, * FROM file_cut_short
    UNION ALL BY NAME
    SELECT 'file_refused' AS kind, * FROM file_refused
    UNION ALL BY NAME
    SELECT 'file_without_rows' AS kind, * FROM file_without_rows
    UNION ALL BY NAME
    SELECT 'gate_never_measured' AS kind, * FROM gate_never_measured
    UNION ALL BY NAME
    SELECT 'judges_depend' AS kind, * FROM judges_depend
    UNION ALL BY NAME
    SELECT 'label_contradicted' AS kind, * FROM label_contradicted
    UNION ALL BY NAME
    SELECT 'label_uneven' AS kind, * FROM label_uneven
    UNION ALL BY NAME
    SELECT 'label_unjoined' AS kind, * FROM label_unjoined
    UNION ALL BY NAME
    SELECT 'label_without_gate' AS kind, * FROM label_without_gate
    UNION ALL BY NAME
    SELECT 'metric_unknown' AS kind, * FROM metric_unknown
    UNION ALL BY NAME
    SELECT 'path_group_unused' AS kind, * FROM path_group_unused
    UNION ALL BY NAME
    SELECT 'pool_unknown' AS kind, * FROM pool_unknown
    UNION ALL BY NAME
    SELECT 'quality_never_failed' AS kind, * FROM quality_never_failed
    UNION ALL BY NAME
    SELECT 'quality_never_passed' AS kind, * FROM quality_never_passed
    UNION ALL BY NAME
    SELECT 'rate_displaced' AS kind, * FROM rate_displaced
    UNION ALL BY NAME
    SELECT 'rate_unmatched' AS kind, * FROM rate_unmatched
    UNION ALL BY NAME
    SELECT 'rate_unsampled' AS kind, * FROM rate_unsampled
    UNION ALL BY NAME
    SELECT 'record_ahead' AS kind, * FROM record_ahead
    UNION ALL BY NAME
    SELECT 'record_behind' AS kind, * FROM record_behind
    UNION ALL BY NAME
    SELECT 'record_corrected' AS kind, * FROM record_corrected
    UNION ALL BY NAME
    SELECT 'record_quarantined' AS kind, * FROM record_quarantined
    UNION ALL BY NAME
    SELECT 'replica_apart' AS kind, * FROM replica_apart
    UNION ALL BY NAME
    SELECT 'replica_crowded' AS kind, * FROM replica_crowded
    UNION ALL BY NAME
    SELECT 'replica_doubled' AS kind, * FROM replica_doubled
    UNION ALL BY NAME
    SELECT 'replica_name_shared' AS kind, * FROM replica_name_shared
    UNION ALL BY NAME
    SELECT 'request_answered_twice' AS kind, * FROM request_answered_twice
    UNION ALL BY NAME
    SELECT 'request_counted_twice' AS kind, * FROM request_counted_twice
    UNION ALL BY NAME
    SELECT 'request_in_flight' AS kind, * FROM request_in_flight
    UNION ALL BY NAME
    SELECT 'request_unevaluable' AS kind, * FROM request_unevaluable
    UNION ALL BY NAME
    SELECT 'request_unobserved' AS kind, * FROM request_unobserved
    UNION ALL BY NAME
    SELECT 'request_without_workload' AS kind, * FROM request_without_workload
    UNION ALL BY NAME
    SELECT 'score_scale_mismatched' AS kind, * FROM score_scale_mismatched
    UNION ALL BY NAME
    SELECT 'series_unwatched' AS kind, * FROM series_unwatched
    UNION ALL BY NAME
    SELECT 'setting_unmatched' AS kind, * FROM setting_unmatched
    UNION ALL BY NAME
    SELECT 'slice_crowded' AS kind, * FROM slice_crowded
    UNION ALL BY NAME
    SELECT 'slice_unknown' AS kind, * FROM slice_unknown
    UNION ALL BY NAME
    SELECT 'streaming_unknown' AS kind, * FROM streaming_unknown
    UNION ALL BY NAME
    SELECT 'value_absurd' AS kind, * FROM value_absurd
    UNION ALL BY NAME
    SELECT 'window_far_apart' AS kind, * FROM window_far_apart
    UNION ALL BY NAME
    SELECT 'work_without_price' AS kind, * FROM work_without_price
    UNION ALL BY NAME
    SELECT 'workload_without_requests' AS kind, * FROM workload_without_requests
)
