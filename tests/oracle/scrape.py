"""A reading of an engine as a line of OTLP metrics, under the names that engines emit."""

import json
from typing import Any

from oracle.engine import BOUNDS
from oracle.fleet import Row

EMITTED = {
    "kv_usage_ratio": "vllm:kv_cache_usage_perc",
    "running_requests": "vllm:num_requests_running",
    "waiting_requests": "vllm:num_requests_waiting",
    "process_started_s": "process_start_time_seconds",
    "prefix_cache_queried_tokens": "vllm:prefix_cache_queries",
    "prefix_cache_hit_tokens": "vllm:prefix_cache_hits",
    "input_tokens": "vllm:prompt_tokens",
    "prefix_cache_hit_blocks": "trtllm:kv_cache_reused_blocks",
    "prefix_cache_missed_blocks": "trtllm:kv_cache_missed_blocks",
    "preemptions": "vllm:num_preemptions",
    "recomputed_tokens": "sglang:num_retracted_input_tokens",
    "draft_tokens": "vllm:spec_decode_num_draft_tokens",
    "accepted_draft_tokens": "vllm:spec_decode_num_accepted_tokens",
    "finished_requests": "vllm:request_success",
    "http_requests": "http_requests",
    "ttft_s": "vllm:time_to_first_token_seconds",
    "iteration_tokens": "vllm:iteration_tokens_total",
}
REASONS = {"finished_requests": "finished_reason", "http_requests": "status"}
DELTA, CUMULATIVE = 1, 2


def otlp(reading: Row) -> str:
    """The reading as one line."""
    temporality = {"aggregationTemporality": DELTA if reading["delta"] else CUMULATIVE}
    metrics: list[Row] = [_gauge(reading, name, value) for name, value in reading["gauges"].items()]
    for (name, reason), value in reading["counters"].items():
        labels = {} if reason is None else {REASONS[name]: reason}
        labels |= {"handler": "/v1/chat/completions", "method": "POST"} if name == "http_requests" else {}
        points = [_point(reading, labels) | {"asDouble": value}]
        metrics.append({"name": EMITTED[name], "sum": {"dataPoints": points, "isMonotonic": True, **temporality}})
    for name, one in reading["histograms"].items():
        seen = {"count": str(sum(one["counts"])), "sum": one["sum"], "explicitBounds": BOUNDS[name]}
        points = [_point(reading, {}) | seen | {"bucketCounts": [str(count) for count in one["counts"]]}]
        metrics.append({"name": EMITTED[name], "histogram": {"dataPoints": points, **temporality}})
    resource = {"attributes": _attributes({"k8s.pod.name": reading["replica"]})}
    return json.dumps({"resourceMetrics": [{"resource": resource, "scopeMetrics": [{"metrics": metrics}]}]}) + "\n"


def _gauge(reading: Row, name: str, value: Any) -> Row:
    if name == "kv_capacity_tokens":  # as labels of a metric that is always 1
        labels = {"num_gpu_blocks": str(value // 16), "block_size": "16"}
        return {"name": "vllm:cache_config_info", "gauge": {"dataPoints": [_point(reading, labels) | {"asDouble": 1}]}}
    return {"name": EMITTED[name], "gauge": {"dataPoints": [_point(reading, {}) | {"asDouble": value}]}}


def _point(reading: Row, labels: dict[str, str]) -> Row:
    named = {"deployment": reading["pool"], "model_name": reading["model"], **labels}
    began = {} if reading["began"] is None else {"startTimeUnixNano": str(reading["began"])}
    return {"timeUnixNano": str(reading["at"]), "attributes": _attributes(named), **began}


def _attributes(named: dict[str, str]) -> list[Row]:
    return [{"key": key, "value": {"stringValue": value}} for key, value in named.items()]
