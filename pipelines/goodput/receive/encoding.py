"""The two encodings of OTLP/HTTP, the signals by path, and what a request of each is in a file."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum

from goodput.collect.otlp.fields import LOGS, METRICS, SPANS, Signal
from goodput.collect.otlp.limits import Limits
from goodput.collect.otlp.single import SingleMessage, framed_line, framed_message


class Encoding(Enum):
    """A content type, the empty message (success) in it, and how a file of it holds and names it."""

    JSON = ("application/json", b"{}", framed_line, "jsonl")
    PROTOBUF = ("application/x-protobuf", b"", framed_message, "pb")

    def __init__(
        self, content_type: str, empty: bytes, framed: Callable[[bytes, Signal, Limits], SingleMessage], suffix: str
    ) -> None:
        self.content_type = content_type
        self.empty = empty
        self.framed = framed
        self.suffix = suffix


@dataclass(frozen=True)
class Kind:
    """Messages that go to the same file: of one signal, in one encoding."""

    signal: Signal
    encoding: Encoding


LANGFUSE_TRACES = "/api/public/otel/v1/traces"  # where Langfuse's SDKs post whatever base URL they are given
PATHS: Mapping[str, Signal] = {"/v1/traces": SPANS, "/v1/metrics": METRICS, "/v1/logs": LOGS, LANGFUSE_TRACES: SPANS}
NAMES: Mapping[Signal, str] = {signal: path.rpartition("/")[2] for path, signal in PATHS.items()}
CONTENT_TYPES: Mapping[str, Encoding] = {encoding.content_type: encoding for encoding in Encoding}
