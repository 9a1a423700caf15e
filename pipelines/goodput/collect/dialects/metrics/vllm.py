"""vLLM's metrics, V0 and V1, current and former names (vllm/v1/metrics/loggers.py, vllm/v1/spec_decode/metrics.py).

`vllm:request_success` counts every request that ended, aborted and failed ones too. Names in "perc" are fractions.
Nothing counts tokens that are recomputed after a preemption: `vllm:prompt_tokens_recomputed`, while there was one, was
of the last token of prompts that were cached whole.
"""

import polars as pl

from goodput.collect.metric import Metric, MetricDialect

# vllm:gpu_prefix_cache_* counted blocks up to v0.8.5 and tokens from v0.9.0 until it was renamed. The help text says
# which; where it did not come along, the version does.
_SAYS, _VERSION = pl.col("description"), pl.col("version").str.extract_groups(r"^v?(\d+)\.(\d+)")
_MAJOR, _MINOR = (_VERSION.struct.field(part).cast(pl.Int64, strict=False) for part in ("1", "2"))
_IS_NEW = (_MAJOR > 0) | (_MINOR >= 9)
_TOLD = _SAYS.str.contains("tokens|blocks")
_IN_TOKENS = pl.when(_TOLD).then(_SAYS.str.contains("tokens")).otherwise(_IS_NEW)
_IN_BLOCKS = pl.when(_TOLD).then(~_SAYS.str.contains("tokens")).otherwise(~_IS_NEW)

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
    ),
)
