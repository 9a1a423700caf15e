"""SGLang's metrics (observability/metrics_collector.py). What vLLM calls preemption is retraction here.

`sglang:num_retracted_reqs` is a gauge of the last step, not the counter; the speculation metrics are ratios only.
"""

from goodput.collect.dialects.http_routes import asks_to_generate
from goodput.collect.label_sets import label
from goodput.collect.metric import Metric, MetricDialect

_GENERATES = (asks_to_generate(label("endpoint"), label("method")) | (label("endpoint") == "/generate")).fill_null(
    value=False
)

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
        Metric("sglang:num_aborted_requests", "finished_requests", "counter", reason="abort"),
        Metric("sglang:max_total_num_tokens", "kv_capacity_tokens", "gauge"),
        Metric("sglang:time_to_first_token_seconds", "ttft_s", "histogram"),
        Metric("sglang:inter_token_latency_seconds", "itl_s", "histogram"),
        Metric("sglang:time_per_output_token_seconds", "tpot_s", "histogram"),
        Metric("sglang:e2e_request_latency_seconds", "e2e_s", "histogram"),
        Metric("sglang:queue_time_seconds", "queue_s", "histogram"),
        Metric("sglang:http_responses", "http_requests", "counter", when=_GENERATES, reason_label="status_code"),
        Metric("sglang:http_responses", None, "counter", when=~_GENERATES),
    ),
    left_out=(
        "sglang:http_requests(_active)?",
        "sglang:(process|scheduler_process)_cpu_seconds",
        "sglang:func_latency_seconds",
    ),
)
