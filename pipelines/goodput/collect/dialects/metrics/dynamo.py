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
        Metric("dynamo_component_request_duration_seconds", "e2e_s", "histogram", when=_GENERATES),
        Metric("dynamo_component_request_duration_seconds", None, "histogram", when=~_GENERATES),
    ),
    left_out=(
        "dynamo_(work_handler|engine|rejection|request_queue).*",
        "dynamo_component_(cancellation|request_bytes|response_bytes|uptime_seconds)",
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
        Metric("dynamo_frontend_cached_tokens_sum", "prefix_cache_hit_tokens", "counter"),
        Metric("dynamo_frontend_cached_sequence_length_sum", "prefix_cache_hit_tokens", "counter", generation=1),
        Metric("dynamo_frontend_time_to_first_token_seconds", "ttft_s", "histogram"),
        Metric("dynamo_frontend_inter_token_latency_seconds", "itl_s", "histogram"),
        Metric("dynamo_frontend_request_duration_seconds", "e2e_s", "histogram"),
    ),
    left_out=(
        "dynamo_(component_router|component_kv|component_ckf|tokio|transport|router|request_plane)_.*",
        "dynamo_frontend_(model|worker|stage|tokenizer|router|event_loop|template|tokenize|detokenize)_.*",
        "dynamo_frontend_(active|queued)_requests",
        "dynamo_frontend_(requests_started|failures|disconnected_clients|output_tokens)",
        "dynamo_frontend_(audio|images|videos|image_tokens)_per_request",
    ),
    layer="gateway",
)
