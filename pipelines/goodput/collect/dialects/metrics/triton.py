"""NVIDIA Triton's metrics (docs/user_guide/metrics.md): requests per model, and the GPUs of the server."""

from goodput.collect.metric import Metric, MetricDialect

TRITON_METRICS = MetricDialect(
    "triton",
    (
        Metric("nv_inference_pending_request_count", "waiting_requests", "gauge"),
        Metric("nv_inference_request_success", "finished_requests", "counter", reason="success"),
        Metric("nv_inference_request_failure", "finished_requests", "counter", reason_label="reason"),
        Metric("nv_gpu_utilization", "gpu_utilisation_ratio", "gauge"),
    ),
)
