"""LiteLLM proxy's Prometheus metrics (litellm/types/integrations/prometheus.py), as far as they count its requests.

Its gauges of remaining budgets and limits are no facts of a replica. `litellm_request_total_latency_metric` and its
queue are of the proxy; the time to first token that it reports is that of its provider.
"""

from goodput.collect.metric import Metric, MetricDialect

LITELLM_METRICS = MetricDialect(
    "litellm",
    (
        Metric("litellm_in_flight_requests", "running_requests", "gauge"),
        Metric("litellm_proxy_total_requests_metric", "finished_requests", "counter", reason_label="status_code"),
        Metric("litellm_input_tokens_metric", "input_tokens", "counter"),
        Metric("litellm_output_tokens_metric", "output_tokens", "counter"),
        Metric("litellm_llm_api_time_to_first_token_metric", "ttft_s", "histogram"),
        Metric("litellm_llm_api_latency_metric", None, "histogram"),
        Metric("litellm_request_total_latency_metric", "e2e_s", "histogram"),
        Metric("litellm_request_queue_time_seconds", "queue_s", "histogram"),
    ),
    left_out=("litellm_.*",),
    layer="gateway",
)
