"""Dumps of TensorRT-LLM's GET /perf_metrics: times of one process's steady clock and counts of blocks.

They say how long the parts of a request took, but neither when it was nor how many tokens it had, and aborted
requests are not in them: nothing of that can be put into a window.
"""

import polars as pl

from goodput.collect.dialect import Dialect, Reject, texts

_TIMES = ("$.perf_metrics.timing_metrics", "$.ctx_perf_metrics", "$.gen_perf_metrics")  # the others: disaggregated
_NO_DATE = (
    "its times are of the server's steady clock, which knows no date: "
    "give trtllm-serve --otlp_traces_endpoint and land its spans instead"
)

TRTLLM_PERF_METRICS = Dialect(
    name="trtllm.perf_metrics",
    table="serving_records",
    matches=pl.any_horizontal(pl.col(_TIMES).is_not_null()),
    fields=(),
    finish=lambda frame: frame,
    signature=texts(*_TIMES),
    rejected=(Reject("no_wall_clock", pl.lit(value=True), _NO_DATE),),
)
