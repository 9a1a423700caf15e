"""Sends to a running receiver, and reads back what it wrote."""

import http.client
import os
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from collect.otlp.files import Outcome, read_path

PROTOBUF, JSON = "application/x-protobuf", "application/json"
LINE = (
    b'{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"4bf92f3577b34da6a3ce929d0e0e4736",'
    b'"spanId":"00f067aa0ba902b7","name":"chat","startTimeUnixNano":"1","endTimeUnixNano":"2"}]}]}]}'
)


CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"  # what is read once the receiver waits for the body


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes


@dataclass
class Sender:
    """One connection."""

    port: int

    def __post_init__(self) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)

    def __enter__(self) -> "Sender":
        return self

    def __exit__(self, *_: object) -> None:
        self.connection.close()

    def send(
        self, body: bytes | Iterable[bytes] = LINE, path: str = "/v1/traces", method: str = "POST", **headers: str
    ) -> Answer:
        """Headers with underscores for hyphens; JSON unless said otherwise. An iterable is sent in chunks."""
        given = {"content-type": JSON} | {k.replace("_", "-"): v for k, v in headers.items()}
        self.connection.request(method, path, body, given)
        response = self.connection.getresponse()
        return Answer(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())


def eventually(holds: Callable[[], bool], within_s: float = 10.0) -> bool:
    end_s = time.monotonic() + within_s
    while not holds():
        if time.monotonic() > end_s:
            return False
        time.sleep(0.01)
    return True


def spans(count: int, name: str = "chat") -> ExportTraceServiceRequest:
    """A batch of spans with random ids."""
    message = ExportTraceServiceRequest()
    scope = message.resource_spans.add().scope_spans.add()
    for _ in range(count):
        span = scope.spans.add(trace_id=os.urandom(16), span_id=os.urandom(8), name=name)
        span.start_time_unix_nano, span.end_time_unix_nano = 1_795_165_200_000_000_000, 1_795_165_201_000_000_000
    return message


def landed(landing: Path, pattern: str = "*") -> list[Outcome]:
    """Every file that was written, read as the pipeline reads it, in the order of names."""
    files = sorted(path for path in (landing / "otlp").glob(pattern) if not path.name.startswith("."))
    return [read_path(file) for file in files]


def span_ids(outcomes: Iterable[Outcome]) -> list[Any]:
    return [row["span_id"] for outcome in outcomes for row in outcome.spans]
