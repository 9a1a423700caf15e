"""What processes emit whatever they are: when they began (Prometheus clients), and the requests of a web server.

`http_requests_total` is that of prometheus-fastapi-instrumentator, which vLLM uses: it counts each request when its
answer has ended, also of a client that left.
"""

from goodput.collect.dialects.http_routes import asks_to_generate
from goodput.collect.label_sets import label
from goodput.collect.metric import Metric, MetricDialect

_GENERATES = asks_to_generate(label("handler"), label("method")).fill_null(value=False)

PROCESS_METRICS = MetricDialect(
    "process",
    (
        Metric("process_start_time_seconds", "process_started_s", "gauge"),
        Metric("http_requests", "http_requests", "counter", when=_GENERATES, reason_label="status"),
        Metric("http_requests", None, "counter", when=~_GENERATES),
    ),
    layer="process",
    left_out=(
        "(python|go|promhttp|scrape)_.*",
        "process_.*",
        "http_(request|response)_(size_bytes|duration_(highr_)?seconds)",
    ),
)
