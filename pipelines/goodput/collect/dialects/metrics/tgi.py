"""Text Generation Inference's metrics (docs/source/reference/metrics.md). It reports no time to first token."""

from goodput.collect.metric import Metric, MetricDialect

TGI_METRICS = MetricDialect(
    "tgi",
    (
        Metric("tgi_batch_current_size", "running_requests", "gauge"),
        Metric("tgi_queue_size", "waiting_requests", "gauge"),
        Metric("tgi_request_count", "received_requests", "counter"),
        Metric("tgi_request_success", "finished_requests", "counter", reason="success"),
        Metric("tgi_request_failure", "finished_requests", "counter", reason_label="err"),
        Metric("tgi_request_input_length_sum", "input_tokens", "counter"),
        Metric("tgi_request_generated_tokens_sum", "output_tokens", "counter"),
        Metric("tgi_request_mean_time_per_token_duration", "tpot_s", "histogram"),
        Metric("tgi_request_duration", "e2e_s", "histogram"),
        Metric("tgi_request_queue_duration", "queue_s", "histogram"),
    ),
    left_out=("tgi_batch_.*", "tgi_request_(max_new_tokens|validation_duration|inference_duration|skipped_tokens)"),
)
