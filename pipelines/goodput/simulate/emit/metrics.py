"""vLLM's own metrics of each engine process as OTLP, as a Collector scrapes them: cumulative sums and gauges.

A process that starts again counts from nothing, with a new start time.
"""

from collections.abc import Callable, Sequence
from typing import Final

from opentelemetry.sdk.metrics.export import (
    AggregationTemporality,
    Gauge,
    Metric,
    MetricsData,
    NumberDataPoint,
    ResourceMetrics,
    ScopeMetrics,
    Sum,
)
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.util.types import Attributes

from goodput.simulate.emit.clock import Clock
from goodput.simulate.emit.processes import Process
from goodput.simulate.fleet.job import Sample
from goodput.simulate.fleet.replica import Incarnation

_SCOPE: Final = InstrumentationScope("github.com/open-telemetry/opentelemetry-collector-contrib/prometheusreceiver")
_GAUGES: Final[dict[str, Callable[[Sample], float]]] = {
    "vllm:num_requests_running": lambda sample: sample.running,
    "vllm:num_requests_waiting": lambda sample: sample.waiting,
    "vllm:kv_cache_usage_perc": lambda sample: sample.kv_usage_ratio,
}
_COUNTERS: Final[dict[str, Callable[[Sample], int]]] = {
    "vllm:num_preemptions": lambda sample: sample.preemptions,
    "vllm:prefix_cache_queries": lambda sample: sample.prefix_queries,
    "vllm:prefix_cache_hits": lambda sample: sample.prefix_hits,
    "vllm:prompt_tokens": lambda sample: sample.prompt_tokens,
    "vllm:generation_tokens": lambda sample: sample.generated_tokens,
}
_DRAFT_COUNTERS: Final[dict[str, Callable[[Sample], int]]] = {
    "vllm:spec_decode_num_draft_tokens": lambda sample: sample.draft_tokens,
    "vllm:spec_decode_num_accepted_tokens": lambda sample: sample.accepted_draft_tokens,
}
_FINISHED: Final[dict[str, Callable[[Sample], int]]] = {
    "stop": lambda sample: sample.stopped,
    "length": lambda sample: sample.cut,
    "abort": lambda _sample: 0,  # vLLM drops an aborted request before it counts it
}


def scrape(clock: Clock, readings: Sequence[tuple[Incarnation, Process, Sample]]) -> MetricsData:
    """Return one export of what was read from several engine processes."""
    return MetricsData(
        [
            ResourceMetrics(process.resource, [ScopeMetrics(_SCOPE, _metrics(clock, incarnation, sample), "")], "")
            for incarnation, process, sample in readings
        ]
    )


def _metrics(clock: Clock, incarnation: Incarnation, sample: Sample) -> list[Metric]:
    spec = incarnation.engine.spec
    labels: dict[str, str] = {"model_name": spec.model, "engine": "0"}
    start_ns, at_ns = clock.ns(incarnation.started_s), clock.ns(sample.at_s)
    counters = _COUNTERS | (_DRAFT_COUNTERS if spec.draft_tokens else {})

    def point(value: float, attributes: Attributes) -> NumberDataPoint:
        return NumberDataPoint(attributes, start_ns, at_ns, value)

    def total(name: str, points: Sequence[NumberDataPoint]) -> Metric:
        return Metric(name, "", "", Sum(points, AggregationTemporality.CUMULATIVE, is_monotonic=True))

    finished = [point(read(sample), labels | {"finished_reason": reason}) for reason, read in _FINISHED.items()]
    return [
        *(Metric(name, "", "", Gauge([point(read(sample), labels)])) for name, read in _GAUGES.items()),
        *(total(name, [point(read(sample), labels)]) for name, read in counters.items()),
        total("vllm:request_success", finished),
    ]
