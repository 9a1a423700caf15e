"""The llm-d router's metrics (docs/metrics.md), and their names in the Gateway API Inference Extension that it was.

Old and new names are emitted side by side, so an old one is an older generation of the same metric. Of the means over
a pool none is read: they are no replica's.
"""

from goodput.collect.metric import Kind, Metric, MetricDialect

# canonical name, kind, emitted names from the newest on
_REQUESTS: tuple[tuple[str, Kind, tuple[str, ...]], ...] = (
    (
        "received_requests",
        "counter",
        ("llm_d_epp_request", "inference_objective_request", "inference_model_request"),
    ),
    (
        "running_requests",
        "gauge",
        ("llm_d_epp_request_running", "inference_objective_running_requests", "inference_model_running_requests"),
    ),
    (
        "input_tokens",
        "counter",
        (
            "llm_d_epp_request_input_tokens_sum",
            "inference_objective_input_tokens_sum",
            "inference_model_input_tokens_sum",
        ),
    ),
    (
        "output_tokens",
        "counter",
        (
            "llm_d_epp_request_output_tokens_sum",
            "inference_objective_output_tokens_sum",
            "inference_model_output_tokens_sum",
        ),
    ),
    ("prefix_cache_hit_tokens", "counter", ("llm_d_epp_request_cached_tokens_sum",)),
)
_QUEUES = (
    ("llm_d_epp_per_endpoint_queue_size", "model_server_endpoint"),
    ("inference_pool_per_pod_queue_size", "model_server_pod"),
)

LLM_D_METRICS = MetricDialect(
    "llm_d",
    (
        *(
            Metric(name, canonical, kind, generation=generation)
            for canonical, kind, names in _REQUESTS
            for generation, name in enumerate(names)
        ),
        *(
            Metric(name, "waiting_requests", "gauge", replica_labels=(label,), generation=generation)
            for generation, (name, label) in enumerate(_QUEUES)
        ),
    ),
    layer="gateway",
)
