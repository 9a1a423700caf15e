"""TensorRT-LLM's metrics (tensorrt_llm/metrics/collector.py). Its cache counts blocks, which are never tokens."""

from goodput.collect.metric import Metric, MetricDialect

TENSORRT_LLM_METRICS = MetricDialect(
    "tensorrt_llm",
    (
        Metric("trtllm:kv_cache_utilization", "kv_usage_ratio", "gauge"),
        Metric("trtllm:num_requests_running", "running_requests", "gauge"),
        Metric("trtllm:num_requests_waiting", "waiting_requests", "gauge"),
        Metric("trtllm:prompt_tokens", "input_tokens", "counter"),
        Metric("trtllm:generation_tokens", "output_tokens", "counter"),
        Metric("trtllm:prompt_cached_tokens", "prefix_cache_hit_tokens", "counter"),
        Metric("trtllm:kv_cache_reused_blocks", "prefix_cache_hit_blocks", "counter"),
        Metric("trtllm:kv_cache_missed_blocks", "prefix_cache_missed_blocks", "counter"),
        Metric("trtllm:request_success", "finished_requests", "counter", reason_label="finished_reason"),
        Metric("trtllm:request_error", "finished_requests", "counter", reason="error"),
        Metric("trtllm:spec_decode_num_draft_tokens", "draft_tokens", "counter"),
        Metric("trtllm:spec_decode_num_accepted_tokens", "accepted_draft_tokens", "counter"),
        Metric("trtllm:time_to_first_token_seconds", "ttft_s", "histogram"),
        Metric("trtllm:time_per_output_token_seconds", "tpot_s", "histogram"),
        Metric("trtllm:e2e_request_latency_seconds", "e2e_s", "histogram"),
        Metric("trtllm:request_queue_time_seconds", "queue_s", "histogram"),
    ),
)
