"""LiteLLM proxy's Prometheus metrics (litellm/types/integrations/prometheus.py), as far as they count its requests.

Its gauges of remaining budgets and limits, and its latencies, are no facts of a replica.
"""

from goodput.collect.metric import Metric, MetricDialect

LITELLM_METRICS = MetricDialect(
    "litellm",
    (
        Metric("litellm_in_flight_requests", "running_requests", "gauge"),
        Metric("litellm_proxy_total_requests_metric", "finished_requests", "counter", reason_label="status_code"),
        Metric("litellm_input_tokens_metric", "input_tokens", "counter"),
        Metric("litellm_output_tokens_metric", "output_tokens", "counter"),
    ),
    layer="gateway",
)
