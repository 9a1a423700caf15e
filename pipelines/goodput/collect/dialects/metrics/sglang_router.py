"""The SGLang router's metrics (`smg_*`): HTTP requests that it took in, their status, tries beyond the first.

A request is answered before its stream has ended, so its durations are none of the user's. Its workers are named by
address in the breakers' metrics alone, which are no facts of a replica.
"""

from goodput.collect.dialects.http_routes import asks_to_generate
from goodput.collect.label_sets import label
from goodput.collect.metric import Metric, MetricDialect

_GENERATES = asks_to_generate(label("path"), label("method")).fill_null(value=False)

SGLANG_ROUTER_METRICS = MetricDialect(
    "sglang_router",
    (
        Metric("smg_http_requests", "received_requests", "counter", when=_GENERATES),
        Metric("smg_http_requests", None, "counter", when=~_GENERATES),
        Metric("smg_http_responses", "finished_requests", "counter", reason_label="status_code"),
        Metric("smg_worker_retries", "retried_requests", "counter"),
    ),
    layer="gateway",
    left_out=("smg_.*",),
)
