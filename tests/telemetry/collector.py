"""A collector on loopback: what it is sent over OTLP/HTTP, decoded by the protocol's own messages."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Status

from notify.receiver import Script, receiving


@dataclass(frozen=True)
class Span:
    trace_id: bytes
    span_id: bytes
    parent_id: bytes
    name: str
    attributes: dict[str, Any]
    error: str | None  # what its status says, if it failed
    begins_ns: int
    ends_ns: int


@dataclass(frozen=True)
class Point:
    name: str
    unit: str
    value: float
    attributes: dict[str, Any]


@dataclass(frozen=True)
class Record:
    trace_id: bytes
    span_id: bytes
    event: str
    severity: str
    body: str
    attributes: dict[str, Any]


@dataclass
class Collector:
    port: int
    script: Script

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def bodies(self) -> bytes:
        return b"".join(got.body for got in self.script.got)

    @property
    def headers(self) -> list[dict[str, str]]:
        return [got.headers for got in self.script.got]

    @property
    def resources(self) -> list[dict[str, Any]]:
        traced = self._messages("traces", ExportTraceServiceRequest)
        return [plain(each.resource.attributes) for message in traced for each in message.resource_spans]

    @property
    def spans(self) -> list[Span]:
        """In the order in which they began."""
        found = [
            Span(
                span.trace_id,
                span.span_id,
                span.parent_span_id,
                span.name,
                plain(span.attributes),
                span.status.message if span.status.code == Status.STATUS_CODE_ERROR else None,
                span.start_time_unix_nano,
                span.end_time_unix_nano,
            )
            for message in self._messages("traces", ExportTraceServiceRequest)
            for resource in message.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]
        return sorted(found, key=lambda span: span.begins_ns)

    @property
    def points(self) -> list[Point]:
        return [
            Point(metric.name, metric.unit, point.as_double or point.as_int, plain(point.attributes))
            for message in self._messages("metrics", ExportMetricsServiceRequest)
            for resource in message.resource_metrics
            for scope in resource.scope_metrics
            for metric in scope.metrics
            for point in metric.gauge.data_points
        ]

    @property
    def records(self) -> list[Record]:
        return [
            Record(
                record.trace_id,
                record.span_id,
                record.event_name,
                record.severity_text,
                record.body.string_value,
                plain(record.attributes),
            )
            for message in self._messages("logs", ExportLogsServiceRequest)
            for resource in message.resource_logs
            for scope in resource.scope_logs
            for record in scope.log_records
        ]

    def value(self, name: str, **attributes: Any) -> float:
        """The one point of a gauge with these attributes."""
        wanted = {f"goodput.{key}": value for key, value in attributes.items()}
        (found,) = [point.value for point in self.points if (point.name, point.attributes) == (name, wanted)]
        return found

    def _messages(self, signal: str, kind: Any) -> list[Any]:
        return [kind.FromString(got.body) for got in self.script.got if got.path.endswith(f"/v1/{signal}")]


def plain(attributes: Sequence[KeyValue]) -> dict[str, Any]:
    return {item.key: getattr(item.value, str(item.value.WhichOneof("value"))) for item in attributes}


@contextmanager
def collecting(script: Script | None = None) -> Iterator[Collector]:
    play = script or Script()
    with receiving(play) as port:
        yield Collector(port, play)
