"""SGLang's metrics (observability/metrics_collector.py). What vLLM calls preemption is retraction here.

`sglang:num_retracted_reqs` is a gauge of the last step, not the counter; the speculation metrics are ratios only.
"""

from goodput.collect.metric import Metric, MetricDialect

SGLANG_METRICS = MetricDialect(
    "sglang",
    (
        Metric("sglang:token_usage", "kv_usage_ratio", "gauge"),
        Metric("sglang:num_running_reqs", "running_requests", "gauge"),
        Metric("sglang:num_queue_reqs", "waiting_requests", "gauge"),
        Metric("sglang:num_retracted_requests", "preemptions", "counter"),
        Metric("sglang:num_retracted_input_tokens", "recomputed_tokens", "counter"),
        Metric("sglang:num_retracted_output_tokens", "recomputed_tokens", "counter"),
        Metric("sglang:prompt_tokens", "input_tokens", "counter"),
        Metric("sglang:generation_tokens", "output_tokens", "counter"),
        # Every prompt token is looked up, so input_tokens are its queries too.
        Metric("sglang:cached_tokens", "prefix_cache_hit_tokens", "counter"),
        Metric("sglang:num_requests", "finished_requests", "counter", reason="finished"),
    ),
)
