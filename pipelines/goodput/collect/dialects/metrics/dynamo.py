"""NVIDIA Dynamo's metrics (docs/observability/metrics.md): of its workers, and of the frontend before them.

Workers pass the metrics of their engine through; those are the engine's dialect. "percent" is a fraction here.
"""

from goodput.collect.label_sets import label
from goodput.collect.metric import Kind, Metric, MetricDialect

# A worker has several endpoints (clear_kv_blocks, load_metrics ...); requests of users come to this one.
_GENERATES = label("dynamo_endpoint").is_in(["generate"]) | label("dynamo_endpoint").is_null()
_OF_ENDPOINTS: tuple[tuple[str, Kind], ...] = (("inflight_requests", "gauge"), ("requests", "counter"))

DYNAMO_WORKER_METRICS = MetricDialect(
    "dynamo",
    (
        Metric("dynamo_component_kvstats_gpu_cache_usage_percent", "kv_usage_ratio", "gauge"),
        Metric("dynamo_component_inflight_requests", "running_requests", "gauge", when=_GENERATES),
        Metric("dynamo_component_requests", "finished_requests", "counter", when=_GENERATES, reason="finished"),
        *(Metric(f"dynamo_component_{name}", None, kind, when=~_GENERATES) for name, kind in _OF_ENDPOINTS),
    ),
)
DYNAMO_FRONTEND_METRICS = MetricDialect(
    "dynamo_frontend",
    (
        Metric("dynamo_frontend_inflight_requests", "running_requests", "gauge"),
        # A request counts as queued until its first token: prefill is no waiting, so this is no waiting_requests.
        Metric("dynamo_frontend_requests", "finished_requests", "counter", reason_label="status"),
        Metric("dynamo_frontend_input_sequence_tokens_sum", "input_tokens", "counter"),
        Metric("dynamo_frontend_output_sequence_tokens_sum", "output_tokens", "counter"),
        Metric("dynamo_frontend_cached_sequence_length_sum", "prefix_cache_hit_tokens", "counter"),
    ),
    layer="gateway",
)
