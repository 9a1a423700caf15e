"""Points to an OTLP endpoint, each at its own time: that of a window at its end, that of the state now.

The exporter, its rules of addresses and the words of a failure are those of own telemetry. The SDK's gauges lose the
beginning of their interval, so the length of a window is an attribute.
"""

import threading
import time
from collections import defaultdict
from collections.abc import Iterable

from opentelemetry.sdk.metrics.export import (
    Gauge,
    MetricExportResult,
    MetricsData,
    NumberDataPoint,
    ResourceMetrics,
    ScopeMetrics,
)
from opentelemetry.sdk.metrics.export import Metric as SdkMetric
from opentelemetry.sdk.util.instrumentation import InstrumentationScope

from goodput.export.catalog import ExportedMetric
from goodput.export.points import Point
from goodput.telemetry.resource import own_resource
from goodput.telemetry.sending import Sending

MAX_POINTS = 5000  # of one request: about 1 MB, where receivers take 4 MiB and more
_SCOPE = InstrumentationScope("goodput.export")


class Receiver:
    """An OTLP endpoint, as long as it takes what is sent."""

    def __init__(self, endpoint: str, bearer_token: str | None, timeout_s: float) -> None:
        self._sending = Sending(endpoint, bearer_token)
        self._exporter = self._sending.metrics(MAX_POINTS, timeout_s)
        self._resource = own_resource({"service.name": "goodput"})

    @property
    def rejected(self) -> int:
        """Points that it took requests without."""
        return self._sending.rejected

    def send(self, found: Iterable[Point], wait_s: float) -> str:
        """Send points and wait for the answer, for so long at most. What went wrong; empty where all arrived."""
        data = _metrics_data(found, self._resource, time.time_ns())
        taken: list[bool] = []
        thread = threading.Thread(target=lambda: taken.append(self._export(data)), name="export", daemon=True)
        thread.start()
        thread.join(max(0.0, wait_s))
        if thread.is_alive():
            self._sending.stop()
            return self._sending.problem or f"no answer within {wait_s:.3g} s"
        return self._sending.problem or ("" if taken == [True] else "could not be sent")

    def _export(self, data: MetricsData) -> bool:
        return self._exporter.export(data) is MetricExportResult.SUCCESS


def _metrics_data(found: Iterable[Point], resource: object, now_ns: int) -> MetricsData:
    by_metric: defaultdict[ExportedMetric, list[NumberDataPoint]] = defaultdict(list)
    for point in found:
        at_ns = now_ns if point.at_ns is None else point.at_ns
        by_metric[point.metric].append(NumberDataPoint(dict(point.attributes), 0, at_ns, point.value))
    metrics = [SdkMetric(each.name, each.meaning, each.unit, Gauge(of)) for each, of in by_metric.items()]
    scope = ScopeMetrics(_SCOPE, metrics, "")
    return MetricsData([ResourceMetrics(resource, [scope], "")])  # type: ignore[arg-type]
