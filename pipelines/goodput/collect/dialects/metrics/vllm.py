"""vLLM's metrics, V0 and V1, current and former names (vllm/v1/metrics/loggers.py, vllm/v1/spec_decode/metrics.py).

`vllm:request_success` counts every request that ended, aborted and failed ones too. Names in "perc" are fractions.
Nothing counts tokens that are recomputed after a preemption: `vllm:prompt_tokens_recomputed`, while there was one, was
of the last token of prompts that were cached whole.
`vllm:request_num_preemptions` is of finished requests only, and its first bucket holds both none and one.
`vllm:cache_config_info` says its numbers in labels. `vllm:request_success` has aborted and failed requests at 0 in
V1: what was sent is in the HTTP server's own count (`processes`).
"""

import polars as pl

from goodput.collect.label_sets import label
from goodput.collect.metric import Metric, MetricDialect

# vllm:gpu_prefix_cache_* counted blocks up to v0.8.5 and tokens from v0.9.0 until it was renamed. The help text says
# which; where it did not come along, the version does.
_SAYS, _VERSION = pl.col("description"), pl.col("version").str.extract_groups(r"^v?(\d+)\.(\d+)")
_MAJOR, _MINOR = (_VERSION.struct.field(part).cast(pl.Int64, strict=False) for part in ("1", "2"))
_IS_NEW = (_MAJOR > 0) | (_MINOR >= 9)
_NAMES_UNIT = _SAYS.str.contains("tokens|blocks")
_IN_TOKENS = pl.when(_NAMES_UNIT).then(_SAYS.str.contains("tokens")).otherwise(_IS_NEW)
_IN_BLOCKS = pl.when(_NAMES_UNIT).then(~_SAYS.str.contains("tokens")).otherwise(~_IS_NEW)

_BLOCKS, _BLOCK_TOKENS, _TOKENS = (
    label(name).cast(pl.Float64, strict=False) for name in ("num_gpu_blocks", "block_size", "kv_cache_size_tokens")
)
_SOURCES = (
    ("local_compute", "computed_input_tokens"),
    ("local_cache_hit", "cached_input_tokens"),
    ("external_kv_transfer", "transferred_input_tokens"),
)
_LATENCIES = (
    ("time_to_first_token_seconds", "ttft_s", 0),
    ("inter_token_latency_seconds", "itl_s", 0),
    ("request_time_per_output_token_seconds", "tpot_s", 0),
    ("e2e_request_latency_seconds", "e2e_s", 0),
    ("request_queue_time_seconds", "queue_s", 0),
    ("request_prefill_time_seconds", "prefill_s", 0),
    ("request_decode_time_seconds", "decode_s", 0),
    ("time_per_output_token_seconds", "itl_s", 1),  # until v0.11 the time between tokens had this name
)

VLLM_METRICS = MetricDialect(
    "vllm",
    (
        Metric("vllm:kv_cache_usage_perc", "kv_usage_ratio", "gauge"),
        Metric("vllm:gpu_cache_usage_perc", "kv_usage_ratio", "gauge", generation=1),
        Metric("vllm:num_requests_running", "running_requests", "gauge"),
        Metric("vllm:num_requests_waiting", "waiting_requests", "gauge"),
        Metric("vllm:num_preemptions", "preemptions", "counter"),
        Metric("vllm:prefix_cache_queries", "prefix_cache_queried_tokens", "counter"),
        Metric("vllm:prefix_cache_hits", "prefix_cache_hit_tokens", "counter"),
        *(
            Metric(f"vllm:gpu_prefix_cache_{word}", f"prefix_cache_{past}_{unit}", "counter", when=holds, generation=1)
            for word, past in (("queries", "queried"), ("hits", "hit"))
            for unit, holds in (("tokens", _IN_TOKENS), ("blocks", _IN_BLOCKS))
        ),
        Metric("vllm:prompt_tokens", "input_tokens", "counter"),
        Metric("vllm:generation_tokens", "output_tokens", "counter"),
        Metric("vllm:request_success", "finished_requests", "counter", reason_label="finished_reason"),
        Metric("vllm:spec_decode_num_draft_tokens", "draft_tokens", "counter"),
        Metric("vllm:spec_decode_num_accepted_tokens", "accepted_draft_tokens", "counter"),
        *(
            Metric("vllm:prompt_tokens_by_source", canonical, "counter", when=label("source") == source)
            for source, canonical in _SOURCES
        ),
        Metric(
            "vllm:cache_config_info", "kv_capacity_tokens", "gauge", value=pl.coalesce(_TOKENS, _BLOCKS * _BLOCK_TOKENS)
        ),
        *(
            Metric(f"vllm:{name}", canonical, "histogram", generation=generation)
            for name, canonical, generation in _LATENCIES
        ),
        Metric("vllm:iteration_tokens_total", "iteration_tokens", "histogram"),
        Metric("vllm:request_num_preemptions", "request_preemptions", "histogram"),
    ),
    left_out=(
        "vllm:estimated_.*",  # of a model of the hardware
        "vllm:engine_sleep_state",
        "vllm:(mm|external_prefix)_cache_(queries|hits)",  # items; tokens of other engines
        "vllm:num_requests_waiting_by_reason",
        "vllm:prompt_tokens_cached(_by_source)?",
        "vllm:admission_rejections",  # among the HTTP server's responses
        "vllm:request_(params_.*|prompt_tokens|generation_tokens|max_num_generation_tokens|prefill_kv_computed_tokens)",
        "vllm:request_inference_time_seconds",  # prefill and decode
    ),
)
