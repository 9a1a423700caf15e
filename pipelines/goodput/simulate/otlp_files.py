"""OTLP files as an OpenTelemetry Collector writes them: exports, some of them twice, in its encodings.

The shape of the files belongs here; what their records say does not.
"""

import base64
import json
import os
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, TypeVar

import zstandard
from google.protobuf import json_format
from google.protobuf.message import Message
from numpy.random import Generator

_FLUSH_EVERY_NS: Final = 5_000_000_000
_BATCH_RECORDS: Final = 512
_RESENT_RATIO: Final = 0.005
_RESENT_AFTER_NS: Final = 7_000_000_000
_ID_FIELDS: Final = ("traceId", "spanId", "parentSpanId")

Record = TypeVar("Record")


@dataclass(frozen=True, slots=True)
class Batch:
    """One export: an OTLP message, how many records it holds, and whether it is a repetition."""

    exported_ns: int
    message: Message
    records: int
    resent: bool = False


def batches(
    records: Sequence[Record], time_ns: Callable[[Record], int], encode: Callable[[Sequence[Record]], Message]
) -> list[Batch]:
    """Group records by export: every five seconds of their own time, at most 512 at once."""
    ordered = sorted(records, key=time_ns)
    exports: list[Batch] = []
    first = 0
    while first < len(ordered):
        exported_ns = (time_ns(ordered[first]) // _FLUSH_EVERY_NS + 1) * _FLUSH_EVERY_NS
        last = first + 1
        while last < min(len(ordered), first + _BATCH_RECORDS) and time_ns(ordered[last]) < exported_ns:
            last += 1
        exports.append(Batch(exported_ns, encode(ordered[first:last]), last - first))
        first = last
    return exports


def with_resends(exports: Sequence[Batch], rng: Generator) -> list[Batch]:
    """Return the exports in order of arrival, about one in 200 and at least one of them twice.

    An exporter that times out waiting for the answer sends again what had already arrived.
    """
    if not exports:
        return []
    count = max(1, round(len(exports) * _RESENT_RATIO))
    chosen = [exports[i] for i in rng.choice(len(exports), size=count, replace=False)]
    again = [replace(one, exported_ns=one.exported_ns + _RESENT_AFTER_NS, resent=True) for one in chosen]
    return sorted((*exports, *again), key=lambda batch: batch.exported_ns)


def json_lines(messages: Iterator[Message]) -> bytes:
    """Encode as OTLP/JSON, one message a line."""
    return b"".join(_otlp_json(message) + b"\n" for message in messages)


def json_lines_zstd(messages: Iterator[Message]) -> bytes:
    """Encode as one zstd stream of OTLP/JSON lines."""
    return zstandard.ZstdCompressor().compress(json_lines(messages))


def length_prefixed(messages: Iterator[Message]) -> bytes:
    """Encode as OTLP protobuf, each message after its length as a big-endian uint32."""
    framed: list[bytes] = []
    for message in messages:
        body = message.SerializeToString()
        framed += (struct.pack(">I", len(body)), body)
    return b"".join(framed)


def write_whole(path: Path, content: bytes) -> None:
    """Write a file under another name first, so that a reader sees all of it or none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.partial")
    partial.write_bytes(content)
    os.replace(partial, path)


def _otlp_json(message: Message) -> bytes:
    document: dict[str, Any] = json_format.MessageToDict(message, use_integers_for_enums=True)
    for record in _records(document):
        for field in _ID_FIELDS:
            if field in record:
                # OTLP/JSON writes ids in hex where the protobuf JSON mapping says base64.
                record[field] = base64.b64decode(record[field]).hex()
    return json.dumps(document, separators=(",", ":")).encode()


def _records(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for resource in document.get("resourceSpans") or document.get("resourceLogs") or []:
        for scope in resource.get("scopeSpans") or resource.get("scopeLogs") or []:
            yield from scope.get("spans") or scope.get("logRecords") or []
